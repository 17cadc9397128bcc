"""The command that keeps the accounts of a server."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from triplestore.model.errors import UsageError


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("name", required=False)
@click.option("--role", type=click.Choice(["read", "write", "admin"]), help="What it may do (a new account: read).")
@click.option("--token", is_flag=True, help="A token instead of a password: it is made, and printed once.")
@click.option("--store", "stores", multiple=True, metavar="NAME", help="Of a server's stores, this one alone.")
@click.option("--remove", is_flag=True, help="Take the account away.")
def account(file: str, name: str | None, role: str | None, token: bool, stores: Sequence[str], remove: bool) -> None:
    """Add an account to FILE, change it, or list the accounts.

    `triplake serve --accounts FILE` reads the file. Without NAME the accounts are listed.

    The password is asked for, or is the first line of standard input. A server reads the file again at SIGHUP.
    """
    from triplestore.server.accounts import (
        NAME,
        ROLES,
        Account,
        Role,
        by_password,
        by_token,
        new_token,
        read_accounts,
        write_accounts,
    )

    known = read_accounts(file) if Path(file).exists() else {}
    if name is None:
        if role or token or stores or remove:
            raise UsageError("which account? give its NAME after the file")
        if not Path(file).exists():
            raise UsageError(f"{file}: there is no such file yet; give a NAME to make it with that account")
        for one in known.values():
            kind = "token" if one.secret.startswith("sha256") else "password"
            click.echo(f"{one.name}\t{one.role.name.lower()}\t{kind}\t{', '.join(one.stores) or 'all stores'}")
        return
    if remove:
        if role or token or stores:
            raise UsageError("--remove takes the account away, and no other option")
        if name not in known:
            raise UsageError(f"{file} has no account {name}")
        write_accounts(file, None, name)
        click.echo(f"removed {name}", err=True)
        return
    if not NAME.fullmatch(name):
        raise UsageError(f"'{name}' cannot be a name: a name has no space, colon or comma, and does not begin with #")
    if any(not part.strip() or len(part.splitlines()) > 1 or ":" in part or "," in part for part in stores):
        raise UsageError("--store takes the name that a store has in the server's addresses")
    before = known.get(name)
    secret, made = "", ""
    if token:
        made = new_token()
        secret = by_token(made)
    elif before is None or not (role or stores):
        secret = by_password(_password(name))
    given = ROLES[role] if role else before.role if before else Role.READ
    chosen = tuple(stores) or (before.stores if before else ())
    write_accounts(file, Account(name, given, secret or (before.secret if before else ""), chosen))
    if made:
        click.echo(made)
    click.echo(f"{'changed' if before else 'added'} {name}: {given.name.lower()}", err=True)


def _password(name: str) -> str:
    """Asked for twice, or a line of standard input. Raises UsageError for none."""
    if sys.stdin.isatty():
        found: str = click.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True)
    else:
        try:
            found = sys.stdin.buffer.readline().decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise UsageError("the password on standard input is not UTF-8") from error
    if not found:
        raise UsageError("no password was given: type it when asked, or write it as the first line of standard input")
    return found
