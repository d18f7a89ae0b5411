# SPDX-License-Identifier: MIT
"""Makes certificates that a test's CA signs, for tls.py, by Debian's openssl."""
import subprocess

OWN_NAME = "subjectAltName=IP:127.0.0.1"


class Certificates:
    """Adds certificates to a TestCase that has a `folder`."""

    def openssl(self, *words):
        subprocess.run(["openssl", *map(str, words)], cwd=self.folder, check=True, capture_output=True, timeout=60)

    def make_ca(self, name):
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem",
                     "-days", 2, "-subj", f"/CN={name}")

    def sign(self, name, ca="ca", names=OWN_NAME, dates=("-days", "2")):
        """Makes a server's key and certificate, with the CA's certificate appended: NAME.key, NAME.pem."""
        self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
                     "-subj", f"/CN={name}")
        (self.folder / "names").write_text(names)
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial",
                     "-out", f"{name}.leaf", "-extfile", "names", *dates)
        (self.folder / f"{name}.pem").write_text((self.folder / f"{name}.leaf").read_text() +
                                                 (self.folder / f"{ca}.pem").read_text())

    def tls_words(self, certificate, key=None):
        """Returns the words of a job that name them."""
        return (f"output.control_certificate={self.folder}/{certificate}.pem",
                f"output.control_key={self.folder}/{key or certificate}.key")
