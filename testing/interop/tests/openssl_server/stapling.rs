//! An OCSP response and SCTs from `openssl s_server`.

use tessera::wire::EntryExtensions;
use tessera_interop::{Client, StapleVerifier, StapledData, client, to};

use crate::{World, talk_and_close};

/// An OCSPResponse (RFC 6960 §4.2.1): malformedRequest, without more. s_server reads it before it sends
/// it.
const OCSP: &[u8] = &[0x30, 3, 0x0a, 1, 1];

/// The signed_certificate_timestamp of s_server, as PEM: a SERVERINFOV2 has the messages where it may occur
/// (ClientHello, Certificate), the type, and the content, a list with one SCT of one byte.
const SCT_FILE: &str = "-----BEGIN SERVERINFOV2 FOR EXTENSION 18-----\n\
    AAAQgAASAAUAAwABBw==\n\
    -----END SERVERINFOV2 FOR EXTENSION 18-----\n";

const SCT_LIST: &[u8] = &[0, 3, 0, 1, 7];

#[test]
fn the_client_gets_the_staples_of_s_server_that_it_asks_for() {
    let world = World::new();
    let status = world.pki.directory.write("status.der", OCSP);
    let scts = world.pki.directory.write("scts.pem", SCT_FILE);
    for (arguments, ocsp_response, sct_list) in [
        (&["-status_file", &status][..], Some(OCSP), None),
        (&["-serverinfo", &scts], None, Some(SCT_LIST)),
        (&["-status_file", &status, "-serverinfo", &scts], Some(OCSP), Some(SCT_LIST)),
        (&[], None, None),
    ] {
        let (mut server, address) = world.server(arguments);
        let asking = StapleVerifier::new(&world.pki);
        let mut config = client(&world.pki);
        config.verifier = asking.clone();
        let mut end = Client::start(&config, to(None), address);
        talk_and_close(&mut end, &mut server);
        let came = StapledData {
            ocsp_response: ocsp_response.map(<[u8]>::to_vec),
            sct_list: sct_list.map(<[u8]>::to_vec),
        };
        assert_eq!(asking.came(), Some(came), "{arguments:?}");
    }
}

/// webpki checks neither, so by default it requests neither, and gets neither.
#[test]
fn the_client_gets_no_staples_of_s_server_that_it_does_not_ask_for() {
    let world = World::new();
    let status = world.pki.directory.write("status.der", OCSP);
    let scts = world.pki.directory.write("scts.pem", SCT_FILE);
    let (mut server, address) = world.server(&["-status_file", &status, "-serverinfo", &scts]);
    let config = client(&world.pki);
    assert_eq!(config.verifier.entry_extensions(), EntryExtensions::default());
    let mut end = Client::start(&config, to(None), address);
    talk_and_close(&mut end, &mut server);
}
