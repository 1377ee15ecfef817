//! Files that are broken, expired, swapped or unreadable: at the start the program exits with 2 and names the file; at
//! a reload the old ones stay in use.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tessera_tunnel_tests::Pki;
use tessera_tunnel_tests::counting::{CountingBackend, ask_once};
use tessera_tunnel_tests::free_address;
use tessera_tunnel_tests::tessera::{Tunnels, client_section, server_section};

use crate::TESSERA;

/// A flaw of a file.
struct Flaw {
    what: &'static str,
    /// The file, and its flawed contents.
    file: String,
    content: Content,
}

enum Content {
    Of(Vec<u8>),
    /// Unreadable for the program.
    Unreadable,
    Missing,
}

impl Flaw {
    /// Applies it; returns the original contents of the file.
    fn apply(&self) -> Vec<u8> {
        let before = fs::read(&self.file).unwrap();
        match &self.content {
            Content::Of(bytes) => fs::write(&self.file, bytes).unwrap(),
            Content::Unreadable => mode(&self.file, 0),
            Content::Missing => fs::remove_file(&self.file).unwrap(),
        }
        before
    }

    fn repair(&self, before: &[u8]) {
        if matches!(self.content, Content::Unreadable) {
            mode(&self.file, 0o644);
        }
        fs::write(&self.file, before).unwrap();
    }
}

fn mode(file: &str, mode: u32) {
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns the possible flaws of a server end's files.
fn flaws(pki: &Pki) -> Vec<Flaw> {
    let stranger = Pki::new();
    let expired = pki.expired_server("expired");
    let read = |file: &str| Content::Of(fs::read(file).unwrap());
    let (server, ca) = (&pki.server, &pki.ca);
    let flaw = |what, file: &String, content| Flaw { what, file: file.clone(), content };
    let broken =
        || Content::Of(b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n".into());
    let half = |file: &str| {
        let bytes = fs::read(file).unwrap();
        Content::Of(bytes[..bytes.len() / 2].into())
    };
    vec![
        flaw("no certificate", &server.certificate, Content::Missing),
        flaw("an empty certificate", &server.certificate, Content::Of(Vec::new())),
        flaw("a broken certificate", &server.certificate, broken()),
        flaw("half a certificate", &server.certificate, half(&server.certificate)),
        flaw("an expired certificate", &server.both, read(&expired.both)),
        flaw("another's certificate", &server.certificate, read(&stranger.server.certificate)),
        flaw("the key in the certificate's place", &server.certificate, read(&server.key)),
        flaw("an unreadable certificate", &server.certificate, Content::Unreadable),
        flaw("no key", &server.key, Content::Missing),
        flaw("half a key", &server.key, half(&server.key)),
        flaw("another's key", &server.key, read(&stranger.server.key)),
        flaw("the certificate in the key's place", &server.key, read(&server.certificate)),
        flaw("an unreadable key", &server.key, Content::Unreadable),
        flaw("no authority", ca, Content::Missing),
        flaw("an empty authority", ca, Content::Of(Vec::new())),
        flaw("a broken authority", ca, broken()),
        flaw("an unreadable authority", ca, Content::Unreadable),
    ]
}

/// Returns the sections of both ends; the server's uses this certificate and key.
fn sections(pki: &Pki, backend: &CountingBackend, flaw: &Flaw) -> (String, std::net::SocketAddr) {
    let (server, client) = (free_address(), free_address());
    let mut section = server_section(pki, "db", &server.to_string(), backend.address(), "");
    if flaw.file == pki.server.both {
        section = section
            .replace(&pki.server.certificate, &pki.server.both)
            .replace(&pki.server.key, &pki.server.both);
    }
    section += &client_section(pki, "app", &client.to_string(), server, "");
    (section, client)
}

#[test]
fn flawed_files_at_the_start_end_the_program_with_2_and_their_name() {
    let (pki, backend) = (Pki::new(), CountingBackend::start());
    for flaw in flaws(&pki) {
        let (sections, _) = sections(&pki, &backend, &flaw);
        let mut tunnels = Tunnels::new(TESSERA, &sections);
        let before = flaw.apply();
        let code = tunnels.fails();
        let stderr = tunnels.process().stderr();
        flaw.repair(&before);
        assert_eq!(code, Some(2), "{}: {stderr}", flaw.what);
        assert!(stderr.contains(&flaw.file), "{}: names the file: {stderr}", flaw.what);
    }
}

#[test]
fn flawed_files_at_a_reload_change_nothing() {
    let (pki, backend) = (Pki::new(), CountingBackend::start());
    let flaws = flaws(&pki);
    let (sections, client) = sections(&pki, &backend, &flaws[0]);
    let tunnels = Tunnels::run(TESSERA, &sections);
    let reloads = |result: &str, times| {
        let result = format!("result=\"{result}\"");
        tunnels.counts("tessera_tunnel_reloads_total", &[&result], times);
    };
    let mut failed = 0;
    // The other file is not part of this configuration.
    for flaw in flaws.iter().filter(|flaw| flaw.file != pki.server.both) {
        let told = tunnels.process().stderr().matches(&flaw.file).count();
        let before = flaw.apply();
        tunnels.process().hang_up();
        failed += 1;
        reloads("failed", failed);
        tunnels.process().says_times(&flaw.file, told + 1);
        flaw.repair(&before);
        if let Err(error) = ask_once(client, &format!("after-{failed}")) {
            panic!("{}: {error}\n{}", flaw.what, tunnels.process().output());
        }
    }
    tunnels.process().hang_up();
    reloads("reloaded", 1);
    ask_once(client, "in the end").unwrap();
}

#[test]
fn a_flawed_configuration_ends_with_2_and_the_place_of_the_flaw() {
    let (pki, backend) = (Pki::new(), CountingBackend::start());
    let (server, to) = (free_address().to_string(), backend.address());
    let good = server_section(&pki, "db", &server, to, "");
    let cases = [
        (good.replace("forward", "foward"), "forward"),
        (good.replace("certificate = ", "certificate = 7 #"), "certificate"),
        (good.clone() + "limits.handshake = \"soon\"\n", "handshake"),
        (good.clone() + "early = \"replayable\"\n", "early"),
        (good.clone() + &good, "`db`"),
        (good.replace(&server, "nowhere"), "listen"),
        (good.clone() + "accept-proxy-from = [\"10.0.0.0/99\"]\n", "accept-proxy-from"),
        (
            good.lines().filter(|line| !line.starts_with("peers")).collect::<Vec<_>>().join("\n"),
            "peers",
        ),
        ("[server.db\n".to_owned(), "tunnels.toml"),
    ];
    for (sections, says) in cases {
        let mut tunnels = Tunnels::new(TESSERA, &sections);
        let code = tunnels.fails();
        let stderr = tunnels.process().stderr();
        assert_eq!(code, Some(2), "{says}: {stderr}");
        assert!(stderr.contains(says) && stderr.contains("tunnels.toml"), "{says}: {stderr}");
    }
}

#[test]
fn a_taken_port_ends_the_program_with_an_error_that_names_it() {
    let (pki, backend) = (Pki::new(), CountingBackend::start());
    let taken = backend.address();
    let section = server_section(&pki, "db", &taken.to_string(), free_address(), "");
    let mut tunnels = Tunnels::new(TESSERA, &section);
    let code = tunnels.fails();
    let stderr = tunnels.process().stderr();
    assert!(code.is_some_and(|code| code != 0), "{code:?}");
    assert!(stderr.contains(&taken.to_string()), "{stderr}");
}
