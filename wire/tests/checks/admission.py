#!/usr/bin/env python3
"""Who may come in: the file of rules, client certificates, maps of names, SIGHUP; and those who try to come in otherwise.

Certificates are made with the program openssl. Everything is encrypted, with passwords; logins go through libpq, attacks by hand.
"""
import base64
import contextlib
import hashlib
import hmac
import os
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

import psycopg

from harness import Refused, Server, Tally, rows
from harness.protocol import message, startup, state

BUILT_IN = [(None, "hostssl", ["all"], ["all"], "all", None, "scram-sha-256", None, None)]
SSL_REQUEST = struct.pack("!II", 8, 80877103)


class Authority:
    """A CA of one's own, and the certificates that it gives."""

    def __init__(self, folder, name):
        self.folder = os.path.join(folder, name)
        os.makedirs(os.path.join(self.folder, "new"))
        for file, text in (("index.txt", ""), ("serial", "01\n")):
            with open(os.path.join(self.folder, file), "w") as out:
                out.write(text)
        with open(self.path("conf"), "w") as out:
            out.write(f"""[ca]\ndefault_ca = this\n[this]\ndir = {self.folder}\ndatabase = $dir/index.txt\nserial = $dir/serial
new_certs_dir = $dir/new\ncertificate = $dir/ca.crt\nprivate_key = $dir/ca.key\ndefault_md = sha256\npolicy = any\nunique_subject = no
[any]\ncommonName = optional\n[client]\nbasicConstraints = CA:FALSE\nextendedKeyUsage = clientAuth
[server]\nbasicConstraints = CA:FALSE\nextendedKeyUsage = serverAuth\nsubjectAltName = IP:127.0.0.1\n""")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj", f"/CN={name}",
                "-keyout", self.path("ca.key"), "-out", self.path("ca.crt"))

    def path(self, file):
        return os.path.join(self.folder, file)

    def give(self, name, begins="20200101000000Z", ends="20400101000000Z", use="client", file=None):
        """Paths of a certificate and its key."""
        file = file or name or "nameless"
        key, request, certificate = (self.path(f"{file}.{end}") for end in ("key", "csr", "crt"))
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}" if name else "/",
                "-keyout", key, "-out", request)
        openssl("ca", "-batch", "-notext", "-config", self.path("conf"), "-in", request, "-out", certificate, "-startdate", begins,
                "-enddate", ends, "-extensions", use)
        os.chmod(key, 0o600)
        return {"sslcert": certificate, "sslkey": key}


def openssl(*arguments):
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"openssl {' '.join(arguments)}\n{done.stderr}")


class Admission:
    def __init__(self, folder):
        self.folder, self.tally, self.server = folder, Tally(), Server()
        self.rules = os.path.join(self.server.data, "pg_hba.conf")
        self.ours, self.others = Authority(folder, "ours"), Authority(folder, "others")

    def start(self, *arguments):
        self.server.start(("--log-level", "info", *arguments), insecure=False)

    def log_in(self, user="controller", password=None, database="postgres", **options):
        """The role that it becomes, or why not: SQLSTATE is not told by libpq while it connects, so the message."""
        options = {"sslmode": "require", "sslcert": "", "sslkey": "", "sslcertmode": "disable", **options}
        if options["sslcert"]:
            options["sslcertmode"] = "allow"
        try:
            with psycopg.connect(host=options.pop("host", "127.0.0.1"), port=options.pop("port", self.server.port), dbname=database, user=user,
                                 password=password or self.server.password(), connect_timeout=20, **options) as connection:
                return rows(connection, "SELECT current_user")[0][0]
        except psycopg.Error as error:
            return str(error).split("FATAL:  ", 1)[-1].strip()

    def refused(self, user, why, name, **options):
        said = self.log_in(user, **options)
        self.tally.that(why in said, name, f"{said!r} has no {why!r}")

    def write(self, text, path=None):
        with open(path or self.rules, "w") as out:
            out.write(text)

    def reload(self, understood=True):
        """SIGHUP, until the log says what came of it."""
        mark, word = len(self.server.said()), "read again who may come in" if understood else "who may come in is not changed"
        self.server.process.send_signal(signal.SIGHUP)
        until = time.monotonic() + 10
        while word not in self.server.said()[mark:]:
            if not self.tally.that(time.monotonic() < until, f"SIGHUP: {word}", self.server.said()[mark:]):
                return ""
            time.sleep(0.02)
        return self.server.said()[mark:]

    def shown(self):
        with psycopg.connect(host="127.0.0.1", port=self.server.port, dbname="postgres", user="controller",
                             password=self.server.password(), sslmode="require") as connection:
            return rows(connection, "SELECT * FROM pg_hba_file_rules"), rows(connection, "SELECT * FROM pg_ident_file_mappings")

    def run(self):
        tally, server = self.tally, self.server
        try:
            self.start()
            with psycopg.connect(host="127.0.0.1", port=server.port, dbname="postgres", user="controller", password=server.password(),
                                 sslmode="require", autocommit=True) as connection:
                for name in ("ada", "ben", "clerk"):
                    connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'of {name}'")
                connection.execute("CREATE ROLE clerks")
                connection.execute("GRANT clerks TO clerk")
                connection.execute("CREATE ROLE inspector LOGIN PASSWORD 'of inspector' IN ROLE dogwood_operator")
                connection.execute("CREATE DATABASE shop")
            tally.equal(self.shown(), (BUILT_IN, []), "the rule that holds where there is no file")
            for case in (self.by_rules, self.damaged_rules, self.passwords, self.channel_binding, self.plain_text, self.replayed, self.cancels):
                tally.case(case)
            server.stop()
            tally.case(self.at_start)
            tally.case(self.by_certificate)
            server.stop()
            tally.that("of ada" not in server.said() and server.password() not in server.said(), "no password stands in the log")
            tally.that("internal error" not in server.said(), "nothing is wrong in the log")
        finally:
            server.remove()
        tally.end()

    def by_rules(self):
        self.write("""# ours
hostssl shop  ada,"ben"   127.0.0.0/8   scram-sha-256
hostssl all   +clerks     samehost      scram-sha-256
hostssl all   ada         all           reject
hostssl all   controller,inspector  127.0.0.1 255.255.255.255 scram-sha-256
""")
        self.refused("nobody", "password authentication failed", "before SIGHUP the old rules hold", password="x")
        self.reload()
        self.tally.equal(self.log_in("ada", "of ada", "shop"), "ada", "a rule of a database")
        self.tally.equal(self.log_in("ben", "of ben", "shop"), "ben", "a quoted name")
        self.refused("ada", 'pg_hba.conf rejects connection for host "127.0.0.1", user "ada", database "postgres", SSL encryption',
                     "rejected", password="of ada")
        self.refused("ben", 'no pg_hba.conf entry for host "127.0.0.1", user "ben", database "postgres", SSL encryption', "no rule",
                     password="of ben")
        self.refused("nobody", 'no pg_hba.conf entry for host "127.0.0.1", user "nobody"', "nobody is told the same")
        self.tally.equal(self.log_in("clerk", "of clerk"), "clerk", "by a membership")
        self.refused("clerk", "password authentication failed", "a rule does not stand for the password", password="of ada")
        found, _ = self.shown()
        self.tally.equal(found, [
            (2, "hostssl", ["shop"], ["ada", "ben"], "127.0.0.0", "255.0.0.0", "scram-sha-256", None, None),
            (3, "hostssl", ["all"], ["+clerks"], "samehost", None, "scram-sha-256", None, None),
            (4, "hostssl", ["all"], ["ada"], "all", None, "reject", None, None),
            (5, "hostssl", ["all"], ["controller", "inspector"], "127.0.0.1", "255.255.255.255", "scram-sha-256", None, None)], "pg_hba_file_rules")
        said = self.server.said()
        for word in ('no rule fits: refused a login from 127.0.0.1 as "ben"', 'rejected by rule (line 4 of the rules): refused a login from 127.0.0.1 as "ada"',
                     "as an unknown role"):
            self.tally.that(word in said, "the log says: " + word, said[-1500:])
        self.tally.that("nobody" not in said, "a role that is none is not named")
        with psycopg.connect(host="127.0.0.1", port=self.server.port, dbname="postgres", user="clerk", password="of clerk", sslmode="require") as clerk:
            for sql in ("SELECT * FROM pg_hba_file_rules", "SELECT * FROM pg_ident_file_mappings", "SELECT pg_reload_conf()", "SELECT rotate_keys()"):
                with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
                    clerk.execute(sql)
                    self.tally.that(False, f"{sql} by anybody")
                clerk.rollback()
        with psycopg.connect(host="127.0.0.1", port=self.server.port, dbname="postgres", user="inspector", password="of inspector", sslmode="require") as one:
            self.tally.equal(rows(one, "SELECT pg_reload_conf(), rotate_keys() >= 0"), [(True, True)], "an operator reloads, and rotates keys")

    def damaged_rules(self):
        with open(self.rules) as file:
            whole = file.read()
        for text, why in [("hostssl all all all trust\n", "line 1: invalid authentication method \"trust\""),
                          (whole + "host all all 10.0.0.1/99 reject\n", "line 6: invalid CIDR mask in address \"10.0.0.1/99\""),
                          (whole + "\nhostssl all ada all cert\nhostssl \"all", "line 8: a quotation mark is not closed"),
                          (whole + "hostssl all ada all cert\n", "line 6: client certificates can only be checked with --client-ca")]:
            self.write(text)
            said = self.reload(understood=False)
            self.tally.that(why in said, "told why", said)
            self.tally.equal(self.log_in("ada", "of ada", "shop"), "ada", "the old rules hold on")
            self.refused("ada", "pg_hba.conf rejects connection", "all of them", password="of ada")
        found, _ = self.shown()
        self.tally.equal(found[-1][-1], None, "a rule that is one alone")
        with open(self.rules, "wb") as file:
            file.write(b"hostssl all all \xff all reject\n")
        self.reload(understood=False)
        os.remove(self.rules)
        self.tally.that("is not there any more" in self.reload(understood=False), "a file that is gone is no open door")
        self.refused("ada", "pg_hba.conf rejects connection", "its rules hold on", password="of ada")
        self.write("hostssl all all all scram-sha-256\nhost al\n")
        found, _ = self.shown()
        self.tally.equal(found[1], (2, None, None, None, None, None, None, None, "end-of-line before role specification"),
                         "a line that is none is shown, before it is read")
        self.write("local all all peer\n")
        self.reload(understood=False)
        self.write("local all all scram-sha-256\nhostnossl all all all scram-sha-256\nhostssl all all all scram-sha-256\n")
        said = self.reload()
        self.tally.that(said.count("no login can fit this rule") == 2, "what never fits is told", said)

    def passwords(self):
        """Password change and expiry."""
        with psycopg.connect(host="127.0.0.1", port=self.server.port, dbname="postgres", user="ben", password="of ben", sslmode="require",
                             autocommit=True) as ben, \
                psycopg.connect(host="127.0.0.1", port=self.server.port, dbname="postgres", user="controller", password=self.server.password(),
                                sslmode="require", autocommit=True) as controller:
            ben.execute("ALTER ROLE ben PASSWORD 'new of ben'")
            self.tally.equal(self.log_in("ben", "new of ben"), "ben", "a password that its own role has changed")
            self.refused("ben", "password authentication failed", "the old one is over", password="of ben")
            for ends, outcome in (("2001-01-01", None), ("2999-01-01", "ben"), ("infinity", "ben")):
                controller.execute(f"ALTER ROLE ben VALID UNTIL '{ends}'")
                if outcome:
                    self.tally.equal(self.log_in("ben", "new of ben"), outcome, f"until {ends}")
                else:
                    # Of one second the log has ten lines.
                    time.sleep(1)
                    mark = len(self.server.said())
                    self.refused("ben", 'password authentication failed for user "ben"', f"until {ends}", password="new of ben")
                    until = time.monotonic() + 10
                    while 'failed login from 127.0.0.1 as "ben"' not in self.server.said()[mark:]:
                        if not self.tally.that(time.monotonic() < until, "the log names a role whose password has ended", self.server.said()[mark:]):
                            break
                        time.sleep(0.02)
            controller.execute("ALTER ROLE ben PASSWORD NULL")
            self.refused("ben", "password authentication failed", "without a password", password="new of ben")
            controller.execute("ALTER ROLE ben PASSWORD 'of ben' NOLOGIN")
            # Who may not log in is told what anybody without a password is.
            self.refused("ben", "password authentication failed", "NOLOGIN", password="of ben")
            controller.execute("ALTER ROLE ben LOGIN")

    def channel_binding(self):
        certificate = os.path.join(self.server.data, "server.crt")
        self.tally.equal(self.log_in("ada", "of ada", channel_binding="require"), "ada", "SCRAM-SHA-256-PLUS")
        self.tally.equal(self.log_in("ada", "of ada", sslmode="verify-full", sslrootcert=certificate, channel_binding="require"), "ada",
                         "the server's own certificate, verified")
        with self.between() as port:
            said = self.log_in("ada", "of ada", port=port, channel_binding="require")
            self.tally.that("malformed SCRAM message" in said, "somebody between, with a certificate of their own", said)
        for first, name in ((b"y,,", "a client told that there is no binding"), (b"p=tls-unique,,", "a binding of another kind")):
            mechanism = b"SCRAM-SHA-256-PLUS" if first.startswith(b"p") else b"SCRAM-SHA-256"
            with self.by_hand("ada") as one:
                said = one.first(mechanism, first + b"n=,r=abcdefgh")
                self.tally.equal((said[0], state(said[1])), (b"E", "08P01"), name)
        with self.by_hand("ada") as one:
            said = one.first(b"SCRAM-SHA-256-PLUS", b"n,,n=,r=abcdefgh")
            self.tally.equal((said[0], state(said[1])), (b"E", "08P01"), "PLUS without a binding")

    @contextlib.contextmanager
    def between(self):
        """Somebody who opens what clients send and sends it on."""
        own = self.others.give("between", use="server")
        served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        served.load_cert_chain(own["sslcert"], own["sslkey"])
        reached = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        reached.check_hostname, reached.verify_mode = False, ssl.CERT_NONE
        listening = socket.create_server(("127.0.0.1", 0))

        def take():
            client, _ = listening.accept()
            client.recv(8)
            client.sendall(b"S")
            client = served.wrap_socket(client, server_side=True)
            server = encrypted(self.server, reached)
            # By one thread: two may not use one encrypted connection at once.
            with client, server, contextlib.suppress(OSError):
                while True:
                    for one in [one for one in (client, server) if one.pending()] or select.select([client, server], [], [])[0]:
                        part = one.recv(65536)
                        if not part:
                            return
                        (server if one is client else client).sendall(part)

        threading.Thread(target=take, daemon=True).start()
        yield listening.getsockname()[1]
        listening.close()

    @contextlib.contextmanager
    def by_hand(self, user, **options):
        one = ByHand(self.server, user, **options)
        try:
            yield one
        finally:
            one.socket.close()

    def plain_text(self):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as one:
            one.sendall(startup(b"ada"))
            said = one.recv(1000)
            self.tally.equal((said[:1], state(said[5:])), (b"E", "28000"), "a login in plain text")
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as one:
            # Bytes before the handshake must not be read as what came encrypted.
            one.sendall(SSL_REQUEST + startup(b"ada"))
            said = b""
            with contextlib.suppress(OSError):
                while part := one.recv(1000):
                    said += part
            self.tally.that(said[:1] == b"S" and b"R" not in said[1:2], "a startup packet in plain text before TLS", said)

    def replayed(self):
        """What proved a password once proves nothing again."""
        with self.by_hand("ada") as one:
            kept = one.proof("of ada")
            self.tally.equal(one.last(kept)[0], b"R", "a login by hand")
        with self.by_hand("ada") as two:
            two.first(b"SCRAM-SHA-256", b"n,,n=,r=" + one.nonce)
            said = two.last(kept)
            self.tally.equal((said[0], state(said[1])), (b"E", "08P01"), "the same proof again")
        with self.by_hand("ada") as three:
            proof = three.proof("of ada")
            said = three.last(proof[:-4] + (b"AAA=" if proof[-4:] != b"AAA=" else b"BBB="))
            self.tally.equal((said[0], state(said[1])), (b"E", "28P01"), "a proof that was changed")

    def cancels(self):
        """A cancel request of who does not know the secret."""
        with psycopg.connect(host="127.0.0.1", port=self.server.port, dbname="postgres", user="ada", password="of ada", sslmode="require") as one:
            backend, done = one.info.backend_pid, []
            sleeper = threading.Thread(target=lambda: done.append(rows(one, "SELECT pg_sleep(1.5), 1")[0][1]))
            sleeper.start()
            for secret in range(50):
                with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as forged:
                    forged.sendall(struct.pack("!IIII", 16, 80877102, backend, secret * 85899345))
            sleeper.join(20)
            self.tally.equal(done, [1], "a statement that others would cancel")

    def at_start(self):
        for text, why in (("hostssl all all all\n", "line 1: end-of-line before authentication method"),
                          ("# nothing\n\nhostssl all all all certt\n", "line 3: invalid authentication method \"certt\"")):
            self.write(text)
            with contextlib.suppress(Refused):
                self.start()
                self.tally.that(False, f"it starts with {text!r}")
            self.tally.that(why in self.server.said(), "it says why it does not start", self.server.said()[-500:])
        os.remove(self.rules)
        for arguments in (("--rules", os.path.join(self.folder, "none")), ("--client-ca", os.path.join(self.folder, "none")),
                          ("--client-ca", os.path.join(self.server.data, "keyring")), ("--identities", self.folder)):
            with contextlib.suppress(Refused):
                self.start(*arguments)
                self.tally.that(False, f"it starts with {arguments}")
        self.server.kill()

    def by_certificate(self):
        rules, names = os.path.join(self.folder, "rules"), os.path.join(self.folder, "names")
        self.write("hostssl all ada,nobody,ghost,dogwood_controller all cert\nhostssl all ben all cert map=staff\n"
                   "hostssl all clerk all scram-sha-256 clientcert=verify-ca\nhostssl shop controller all scram-sha-256 clientcert=verify-full\n"
                   "hostssl all controller all scram-sha-256\n", rules)
        self.write("# who is who\nstaff \"Ben Jones\" ben\n", names)
        self.start("--rules", rules, "--identities", names, "--client-ca", self.ours.path("ca.crt"))
        ours, others = self.ours, self.others
        ada = ours.give("ada")
        self.tally.equal(self.log_in("ada", "wrong", **ada), "ada", "by certificate alone")
        self.tally.equal(self.log_in("ada", "wrong", ssl_max_protocol_version="TLSv1.2", **ada), "ada", "by certificate with TLS 1.2")
        self.tally.equal(self.log_in("ben", **ours.give("Ben Jones", file="ben")), "ben", "by a map")
        need = "connection requires a valid client certificate"
        self.refused("ada", need, "without one", password="of ada")
        for certificate, why, name in [
                (others.give("ada"), "The client certificate was issued by an unknown authority.", "of another authority"),
                (ours.give("ada", ends="20210101000000Z", file="ended"), "The client certificate has expired.", "one that ended"),
                (ours.give("ada", begins="20390101000000Z", file="early"), "The client certificate is not yet valid.", "one that has not begun"),
                (ours.give("ada", use="server", file="server"), "The client certificate is not one for clients.", "one of a server")]:
            self.refused("ada", need, name, **certificate)
            self.refused("ada", why, name + ", by name", **certificate)
            self.refused("controller", need, name + ", where a password is asked for", **certificate)
        # The log has ten lines of refusals a second, and says how many it left out.
        time.sleep(1.1)
        for user, certificate, name in [("ada", ours.give("ben"), "another's"), ("ben", ours.give("ben", file="ben2"), "one that no map has"),
                                        ("ada", ours.give("Ada", file="Ada2"), "a name in capitals"), ("ada", ours.give(""), "one without a name"),
                                        ("ada", ours.give("ada\\0x", file="zero"), "a longer name")]:
            self.refused(user, f'certificate authentication failed for user "{user}"', name, **certificate)
        time.sleep(1.1)
        # A role that is none would act as the first one.
        for user in ("nobody", "ghost", "dogwood_controller"):
            self.refused(user, f'role "{user}" does not exist', f"{user} by a certificate that holds", **ours.give(user))
        self.tally.equal(self.log_in("clerk", "of clerk", **ada), "clerk", "a password, and any certificate")
        self.refused("clerk", need, "the password alone", password="of clerk")
        self.refused("clerk", "password authentication failed", "the certificate alone", password="x", **ada)
        self.tally.equal(self.log_in("controller", database="shop", **ours.give("controller")), "controller", "a password, and its own certificate")
        self.refused("controller", 'certificate authentication failed for user "controller"', "a password, and another's", database="shop", **ada)
        found, mapped = self.shown()
        self.tally.equal([rule[6:8] for rule in found[:4]], [("cert", ["clientcert=verify-full"]), ("cert", ["map=staff", "clientcert=verify-full"]),
                         ("scram-sha-256", ["clientcert=verify-ca"]), ("scram-sha-256", ["clientcert=verify-full"])], "pg_hba_file_rules' options")
        self.tally.equal(mapped, [(2, "staff", "Ben Jones", "ben", None)], "pg_ident_file_mappings")
        self.write("staff a\n", names)
        self.reload(understood=False)
        self.write("staff ben ben\n", names)
        self.reload()
        self.tally.equal(self.log_in("ben", **ours.give("ben", file="ben3")), "ben", "by the map as it is now")
        # Another authority from now on.
        shutil.copy(others.path("ca.crt"), ours.path("ca.crt.new"))
        os.replace(ours.path("ca.crt.new"), ours.path("ca.crt"))
        self.reload()
        self.refused("ada", need, "of the authority that was", **ada)
        self.tally.equal(self.log_in("ada", **others.give("ada", file="later")), "ada", "of the one that is")
        said = self.server.said()
        for word in ("The client certificate has expired: refused a login from 127.0.0.1 as \"ada\"", "a client certificate of another name (line 1 of the rules)",
                     "no client certificate (line 1 of the rules)", "a client certificate of no role: refused a login from 127.0.0.1 as an unknown role"):
            self.tally.that(word in said, "the log says: " + word)
        self.tally.that("ghost" not in said and "Ben Jones" not in said, "who is none is not named, nor what stands in certificates")


def encrypted(server, context):
    one = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    one.sendall(SSL_REQUEST)
    assert one.recv(1) == b"S"
    return context.wrap_socket(one)


class ByHand:
    """A login, message by message."""

    def __init__(self, server, user):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.socket = encrypted(server, context)
        body = struct.pack("!I", 196608) + b"user\0" + user.encode() + b"\0database\0postgres\0\0"
        self.socket.sendall(struct.pack("!I", len(body) + 4) + body)
        self.receive()
        self.nonce = base64.b64encode(os.urandom(18))

    def receive(self):
        head = self.exactly(5)
        return head[:1], self.exactly(struct.unpack("!I", head[1:])[0] - 4)

    def exactly(self, count):
        found = b""
        while len(found) < count:
            part = self.socket.recv(count - len(found))
            if not part:
                raise ConnectionError("the server has gone")
            found += part
        return found

    def first(self, mechanism, said):
        self.socket.sendall(message(b"p", mechanism + b"\0" + struct.pack("!I", len(said)) + said))
        return self.receive()

    def proof(self, password):
        bare = b"n=,r=" + self.nonce
        server_first = self.first(b"SCRAM-SHA-256", b"n,," + bare)[1][4:]
        told = dict(part.split(b"=", 1) for part in server_first.split(b","))
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(told[b"s"]), int(told[b"i"]))
        key = hmac.digest(salted, b"Client Key", "sha256")
        last = b"c=biws,r=" + told[b"r"]
        signature = hmac.digest(hashlib.sha256(key).digest(), bare + b"," + server_first + b"," + last, "sha256")
        return last + b",p=" + base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True)))

    def last(self, said):
        self.socket.sendall(message(b"p", said))
        return self.receive()


if __name__ == "__main__":
    if not shutil.which("openssl"):
        sys.exit("the program openssl is needed, to make certificates")
    with tempfile.TemporaryDirectory(prefix="dogwood-admission-") as made:
        Admission(made).run()
