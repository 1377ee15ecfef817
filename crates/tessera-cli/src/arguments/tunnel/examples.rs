//! What the help of a tunnel's end shows.

pub(super) const CLIENT: &str = "\
Examples:
  tessera tunnel client --listen 127.0.0.1:5432 --connect db.example:8443 \\
      --certificate app.pem --key app.key --ca ca.pem
  then: psql 'host=127.0.0.1 port=5432 sslmode=disable gssencmode=disable'
  tessera tunnel client ... --sessions ~/.cache/tunnel   early data after a restart too
  tessera tunnel client ... --early never --spare 4      connections kept ready instead of early data

The options are the keys of a [client.NAME] section (docs/tunnel.md).
Exit codes: 0 it was asked to end, 1 something failed, 2 the options are invalid.";

pub(super) const SERVER: &str = "\
Examples:
  tessera tunnel server --listen :8443 --forward 127.0.0.1:5432 \\
      --certificate db.pem --key db.key --ca ca.pem --names app.example
  tessera tunnel server ... --state /var/lib/tessera     a restart costs clients nothing
  tessera tunnel server ... --send-proxy --send-proxy-identity   the backend learns who the client is
  tessera tunnel server ... --admin 127.0.0.1:9464       metrics and health

The options are the keys of a [server.NAME] section (docs/tunnel.md); a fleet of servers needs a file.
Exit codes: 0 it was asked to end, 1 something failed, 2 the options are invalid.";
