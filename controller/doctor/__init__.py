"""`doctor`: looks at a live installation step by step and says what to mend. It changes nothing."""
