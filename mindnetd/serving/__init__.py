"""The HTTP side: routes, what a reply looks like, who may see what, the socket file."""
