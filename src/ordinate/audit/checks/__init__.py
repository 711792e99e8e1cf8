"""Other ways of computing what one pass has computed: one check, one file."""
