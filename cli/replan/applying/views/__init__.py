"""An application for those who only look: how far it is, what waits, how it ended. Nothing is asked or written."""
