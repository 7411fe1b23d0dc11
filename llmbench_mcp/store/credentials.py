"""What is known of credentials, as rows: the keys themselves lie elsewhere."""

from __future__ import annotations

from llmbench_mcp.domain.credential import StoredCredential
from llmbench_mcp.store.database import Database, Row


class CredentialStore:
    """Put, bind, find and forget."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[StoredCredential]:
        """Every one, by name."""
        return [_credential(row) for row in await self._database.all("credentials_all")]

    async def find(self, name: str) -> StoredCredential | None:
        """By name."""
        row = await self._database.one("credential_by_name", name)
        return _credential(row) if row else None

    async def put(self, credential: StoredCredential) -> StoredCredential | None:
        """Store it in place of one of that name; returns that."""
        c = credential
        async with self._database.transaction() as transaction:
            row = await transaction.one("credential_by_name", c.name)
            await transaction.run("credential_put", c.name, c.origin, c.place, c.slot, c.set_at, c.expires_at)
        return _credential(row) if row else None

    async def bind(self, name: str, origin: str) -> StoredCredential | None:
        """Bind it to ``origin`` unless it is bound already; returns it as it is now, None when there is none."""
        async with self._database.transaction() as transaction:
            await transaction.run("credential_bind", name, origin)
            row = await transaction.one("credential_by_name", name)
        return _credential(row) if row else None

    async def forget(self, credential: StoredCredential) -> list[str]:
        """Delete it and take it from the endpoints that name it; returns those endpoints' names.

        Nothing is changed where another key has taken its place.
        """
        c = credential
        async with self._database.transaction() as transaction:
            if not await transaction.run("credential_delete", c.name, c.place, c.slot):
                return []
            rows = await transaction.all("credential_users", credential.reference)
            await transaction.run("credential_leave", credential.reference)
        return [str(row["name"]) for row in rows]

    async def lend(self, endpoint_id: str, reference: str | None) -> None:
        """Let an endpoint use it, or none; what was found with another credential is no longer known."""
        async with self._database.transaction() as transaction:
            await transaction.run("credential_lend", endpoint_id, reference)


def _credential(row: Row) -> StoredCredential:
    names = ("name", "origin", "place", "slot", "set_at", "expires_at")
    return StoredCredential(**{name: row[name] for name in names})
