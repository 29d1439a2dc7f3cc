"""Properties print what repeats a failure, and are not timed: a loaded machine must not fail them."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, print_blob=True)
settings.load_profile("steady")
