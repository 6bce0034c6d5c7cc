"""The screens, and what lies over them."""
