"""The names of the themes, for those that must not wait for the screen's modules: the command line, the config."""

THEME_NAMES = ("dark", "light", "contrast", "terminal", "mono")
"""`ui.themes.THEME_NAMES`; its module would bring the screen with it, before there is something to be shown."""
