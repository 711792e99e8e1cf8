"""Does the long window work? At three levels, with statistics that hold."""
