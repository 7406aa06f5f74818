# SPDX-License-Identifier: MIT
"""rounds.py - work.py, work.sql and what hashlib and ssl do with libcrypto, once for each line of input; each ends with a line in ./marks"""
import hashlib, os, sqlite3, ssl, sys

here = os.path.dirname(os.path.abspath(__file__))
work, sql = (open(os.path.join(here, 'work.' + kind)).read() for kind in ('py', 'sql'))


def crypto():
    data = b'0123456789' * 5000
    for name in ('md5', 'sha1', 'sha256', 'sha512', 'sha3_256', 'sm3'):
        print(name, hashlib.new(name, data).hexdigest())
    print(hashlib.pbkdf2_hmac('sha256', b'secret', b'salt', 1000).hex(), hashlib.scrypt(b'secret', salt=b'salt', n=256, r=8, p=1).hex())


def side(purpose, to_read, to_write):
    """Without certificates; the key is agreed upon over a curve."""
    context = ssl.SSLContext(purpose)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers('AECDH-AES256-SHA:@SECLEVEL=0')
    return context.wrap_bio(to_read, to_write, server_side=purpose == ssl.PROTOCOL_TLS_SERVER)


def tls():
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [side(ssl.PROTOCOL_TLS_CLIENT, down, up), side(ssl.PROTOCOL_TLS_SERVER, up, down)]
    waits = 0
    for end in ends * 2:
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:		# an exception of C's making
            waits += 1
    ends[0].write(b'x' * 10000)
    print(waits, ends[1].read(5), ends[1].cipher())


def database():
    db = sqlite3.connect(':memory:')
    db.create_function('twice', 1, lambda x: 2 * x)
    for line in sql.splitlines():
        print(db.execute(line).fetchall() if line.startswith('select') else db.executescript(line).fetchall())
    print(db.execute('select sum(twice(a)) from t').fetchall())


for line in sys.stdin:
    exec(work, {'__name__': 'work'})
    database()
    crypto()
    tls()
    with open('marks', 'a') as marks:
        marks.write('\n')
