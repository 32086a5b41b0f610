"""What the notebooks in `book` share: tables of what `lutra_client` reads, and charts of them.

`opened.start` gives the client; `charts` are drawn of the tables of `fleet`, `settings`, `forecasts`, `racing` and
`versions`. `command` is `lutra notebook`.
"""
