"""The operator's settings: the model, where its values come from, and its reference page."""

from controller.settings.load import CONFIG_VARIABLE, SettingsError, env_name, flag_name, load
from controller.settings.model import ENV_PREFIX, Settings

__all__ = ["CONFIG_VARIABLE", "ENV_PREFIX", "Settings", "SettingsError", "env_name", "flag_name", "load"]
