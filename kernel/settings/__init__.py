"""The user's settings: what they must obey, how they are read, and the ones in force now.

``rules``          what the document itself demands
``circumstances``  what the machine of the moment would have to offer
``conversion``     the file's words to the kernel's values, and back
``reading``        ``check`` for the front end, ``load`` for start-up
``live``           the settings in force, and who hears of new ones
``box`` ``inventory``    the models that come with us; what is known of each model

What the file looks like is ``protocol/settings_file.py``; nothing here writes it.
"""
