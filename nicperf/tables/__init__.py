"""Constants of the standards, each with its clause. Nothing here is measured, fitted or guessed."""
