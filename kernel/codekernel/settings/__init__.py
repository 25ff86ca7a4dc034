"""The user's settings: settings.json, its validation, the bundled models.

Modules, in the order data meets them:

    loading.py        settings.json -> Settings, strict or lenient
    validation.py     rules, requirements and warnings
    local_models.py   bundled models, default settings, the chat model that is asked
    merging.py        the models of another settings.json
    live.py           the settings in force, and their listeners
"""
