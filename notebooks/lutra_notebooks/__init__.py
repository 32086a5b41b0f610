"""What the notebooks in `book` share: tables of what `lutra_client` reads, and charts of them. Users of the REST interface.

`start` opens the client. Rooms: `charts` above the tables `fleet`, `settings`, `forecasts`, `racing`, `versions`.
"""
