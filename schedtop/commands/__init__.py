"""The commands beside the dashboard, a module each; `options` is what they share."""
