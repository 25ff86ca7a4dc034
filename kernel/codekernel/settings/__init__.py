"""The user's settings: loading and validating settings.json, the bundled models.

The settings in force.

Modules, in the order data meets them:

    local_models.py
    validation.py
    loading.py
    live.py
"""
