"""Where tables lie."""
