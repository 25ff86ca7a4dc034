"""The salt of the team in these tests, and what is derived of it, slowly, once."""

from codekernel.sharing.vector_pack import TeamSecret

SALT = "a salt of this team"
SECRET = TeamSecret.from_salt(SALT)
