//! Rejects options that contradict each other, so that none is silently ignored.

use std::net::SocketAddr;

use tessera_kit::ProgramError;

use crate::options::{
    Answer, ClientCertificates, Common, ConnectOptions, EarlyData, Load, LoadMode, PskHash,
    PskOptions, ServeOptions,
};

impl ServeOptions {
    /// Rejects options that contradict each other.
    pub(crate) fn check(&self) -> Result<(), ProgramError> {
        self.common.check()?;
        if self.common.kem_auth && self.common.certificates.is_none() {
            return wrong(
                "--kem-auth needs a certificate with a key of a KEM: add --certificate FILE and --key FILE \
                 (`tessera certificate issue` makes them)",
            );
        }
        if !self.common.known_keys.is_empty() && self.client_certificates != ClientCertificates::No
        {
            return wrong(
                "--known-key is never used where clients are asked for certificates, which they could not show: leave \
                 out one of them",
            );
        }
        if self.udp {
            self.check_udp()?;
        } else if self.forward.or(self.forward_dtls12).is_some() {
            return wrong("--forward and --forward-dtls12 forward datagrams: add --udp");
        }
        if self.tickets.count == 0 && self.common.early_data.any() {
            return wrong("early data needs tickets: leave out --tickets 0, or the early data");
        }
        if self.max_connections_per_address.is_some_and(|count| count > self.max_connections) {
            return wrong(
                "--max-connections-per-address exceeds --max-connections: raise that, or lower this",
            );
        }
        let speaks_http = |name: &String| ["h2", "http/1.1", "http/1.0"].contains(&name.as_str());
        if self.answer == Answer::Http && !self.common.protocols.iter().all(speaks_http) {
            return wrong(
                "--http speaks only HTTP: --alpn may list only h2, http/1.1 and http/1.0",
            );
        }
        if self.common.cache_certificates.is_some() && self.uses_psks_alone() {
            return wrong(
                "--cache-certificates has nothing to cache: with PSKs or known keys and no --name there is no \
                 certificate; leave it out, or add --certificate FILE",
            );
        }
        if self.state.is_some() && self.state == self.common.cache_certificates {
            return wrong(
                "--state and --cache-certificates name the same directory: each needs its own",
            );
        }
        if self.state_key.is_some() && self.state.is_none() {
            return wrong("--state-key is the key of a state: add --state DIR");
        }
        if self.state_witness.is_some() && self.state_key.is_none() {
            return wrong(
                "--state-witness has nothing to detect: a key that the program keeps itself opens no old copy of the \
                 state; leave it out, or add --state-key FILE",
            );
        }
        if self.write_certificate.is_some() && self.uses_psks_alone() {
            return wrong(
                "--write-certificate has nothing to write: with PSKs or known keys and no --name there is no \
                 certificate",
            );
        }
        Ok(())
    }

    fn check_udp(&self) -> Result<(), ProgramError> {
        if self.answer == Answer::Http {
            return wrong("--udp echoes datagrams, and --http is over TCP: leave one of them out");
        }
        if self.socket_ports.is_some() && self.sockets.is_none() {
            return wrong(
                "--socket-ports is for sockets of associations: add --sockets tcs or ipc",
            );
        }
        let targets = [self.forward, self.forward_dtls12].into_iter().flatten();
        if targets.into_iter().any(|target| is_listening_at(self.listen, target)) {
            return wrong(
                "--forward and --forward-dtls12 name other servers, and this is the address of --listen: \
                 change one of them",
            );
        }
        check_udp_of_both(self.tcp_fast_open, &self.common)
    }

    /// Whether PSKs or known keys replace certificates: the options have some and no certificate.
    pub(crate) fn uses_psks_alone(&self) -> bool {
        self.common.certificates.is_none() && self.common.has_psks() && self.names.is_empty()
    }
}

impl ConnectOptions {
    /// Rejects options that contradict each other.
    pub(crate) fn check(&self) -> Result<(), ProgramError> {
        self.common.check()?;
        if let EarlyData { forward_secret: true, replayable_without_forward_secrecy: true } =
            self.common.early_data
        {
            return wrong(
                "early data is either forward-secret or replayable: name one of \
                 --forward-secret-early-data and --replayable-early-data-without-forward-secrecy",
            );
        }
        if self.common.kem_auth && self.accepts_no_certificate() {
            return wrong(
                "--kem-auth accepts certificates with keys of KEMs, and with PSKs or a known key alone none is accepted: \
                 leave it out, or add --ca FILE",
            );
        }
        if self.common.cache_certificates.is_some() && self.accepts_no_certificate() {
            return wrong(
                "--cache-certificates has nothing to cache: with PSKs or a known key alone no server \
                 certificate is accepted; leave it out, or add --ca FILE",
            );
        }
        if self.udp {
            if self.load.is_some() {
                return wrong("--count measures connections over TCP: leave out --udp, or --count");
            }
            check_udp_of_both(self.tcp_fast_open, &self.common)?;
        }
        if self.listen.is_some() {
            self.check_listen()?;
        }
        if self.sessions_key.is_some() && self.sessions.is_none() {
            return wrong("--sessions-key FILE wraps sessions in files: add --sessions DIRECTORY");
        }
        match &self.load {
            Some(load) => self.check_load(load),
            None if self.early_data_file.is_some() => self.check_early_data(),
            None => Ok(()),
        }
    }

    fn check_listen(&self) -> Result<(), ProgramError> {
        if !self.udp {
            return wrong(
                "--listen carries datagrams: add --udp (for TCP there is tessera tunnel)",
            );
        }
        if self.early_data_file.is_some() {
            return wrong(
                "--listen sends programs' own first datagrams as early data, if early data is allowed: leave out \
                 --early-data FILE",
            );
        }
        if self.keep_open {
            return wrong("--listen reads no standard input: leave out --keep-open");
        }
        Ok(())
    }

    /// Whether PSKs or a known key replace certificates: the options have some and no trust anchor.
    pub(crate) fn accepts_no_certificate(&self) -> bool {
        let names_some = self.fingerprint.is_some()
            || self.insecure_accept_any_certificate
            || self.common.ca.is_some();
        self.common.has_psks() && !names_some
    }

    fn check_early_data(&self) -> Result<(), ProgramError> {
        if !self.common.early_data.any() {
            return wrong(
                "--early-data FILE would never be early: add --forward-secret-early-data \
                 (or --replayable-early-data-without-forward-secrecy)",
            );
        }
        if self.sessions.is_none() {
            return wrong(
                "--early-data FILE needs a ticket of an earlier connection: add --sessions DIRECTORY, \
                 and connect twice",
            );
        }
        Ok(())
    }

    fn check_load(&self, load: &Load) -> Result<(), ProgramError> {
        let sends_early = matches!(load.mode, LoadMode::ZeroRtt | LoadMode::ZeroRttFs);
        if self.keep_open {
            return wrong("--count sends no standard input: leave out --keep-open");
        }
        if self.sessions.is_some() {
            return wrong("--count keeps its sessions to itself: leave out --sessions");
        }
        if self.early_data_file.is_some() && !sends_early {
            return wrong(
                "--early-data FILE is sent only with --mode 0rtt-fs or 0rtt: set one of these, or leave out the file",
            );
        }
        if self.common.early_data.any() {
            return wrong(
                "with --count, --mode chooses which early data is sent: --mode 0rtt-fs (or 0rtt), without other \
                 options for it",
            );
        }
        if self.tickets == 0 && load.mode != LoadMode::Full {
            return wrong(
                "this mode resumes, and --tickets 0 asks for no tickets: measure --mode full",
            );
        }
        Ok(())
    }
}

impl Common {
    /// Whether there are PSKs, or keys from which they follow.
    fn has_psks(&self) -> bool {
        self.psks.any() || !self.known_keys.is_empty()
    }

    fn check(&self) -> Result<(), ProgramError> {
        if self.psks.any() {
            return Ok(());
        }
        if self.psks.import.is_some() {
            return wrong("--import-psks has none to import: add --psk-file FILE or --psk");
        }
        if self.psks.hash != PskHash::default() {
            return wrong("--psk-hash applies to PSKs, and there is none: add --psk-file FILE");
        }
        Ok(())
    }
}

/// Whether a server that listens at this address gets what is sent to the target.
fn is_listening_at(listen: SocketAddr, target: SocketAddr) -> bool {
    let (here, there) = (listen.ip(), target.ip());
    let is_everywhere = here.is_unspecified() && (there.is_loopback() || there.is_unspecified());
    target.port() == listen.port() && (here == there || is_everywhere)
}

fn check_udp_of_both(tcp_fast_open: bool, common: &Common) -> Result<(), ProgramError> {
    if tcp_fast_open {
        return wrong("--udp has no SYN that --tcp-fast-open could use: leave one of them out");
    }
    if common.cache_certificates.is_some() {
        return wrong(
            "--cache-certificates keeps what connections over TCP learn, not those of --udp: leave one of them out",
        );
    }
    Ok(())
}

impl PskOptions {
    pub(crate) fn any(&self) -> bool {
        !self.keys.is_empty() || !self.files.is_empty()
    }
}

impl EarlyData {
    fn any(self) -> bool {
        self.forward_secret || self.replayable_without_forward_secrecy
    }
}

fn wrong(what: &str) -> Result<(), ProgramError> {
    Err(ProgramError::settings(what))
}
