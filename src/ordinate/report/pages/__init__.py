"""What each kind of result puts on its page: a file a kind, found by its name, with a function `page`."""
