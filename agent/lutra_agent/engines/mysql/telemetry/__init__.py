"""The counters of a server of the family, the target metrics of a window, and the account's rights to see them."""
