//! Record padding (RFC 8446 §5.4): every protected record is padded, none beyond a limit.

use std::num::NonZeroU16;
use std::sync::Arc;

use tessera::wire::ContentType;
use tessera::{Output, Padding};
use tessera_harness::{EARLY_DATA, Mode, OneVault, Scene, at, records};

fn multiple_of(multiple: u16) -> Padding {
    Padding::MultipleOf(NonZeroU16::new(multiple).expect("not zero"))
}

fn scene(mode: Mode, padding: Padding) -> Scene {
    let mut scene = Scene::new(tessera_null_provider::provider(), mode);
    scene.client.padding = padding;
    scene.server.padding = padding;
    scene
}

/// The lengths of content and padding of a stream's protected records.
fn lengths(stream: &[u8]) -> Vec<usize> {
    let protected = records(stream).into_iter();
    let protected = protected.filter(|record| record[0] == ContentType::APPLICATION_DATA.0);
    protected.map(|record| record.len() - 5 - 1 - 16).collect()
}

#[test]
fn every_record_in_every_mode_is_padded() {
    for mode in Mode::ALL {
        let scene = scene(mode, multiple_of(256));
        let mut pair = scene.pair();
        pair.run().client_write(&[b'c'; 20_000]);
        pair.server_write(b"s");
        pair.run();
        pair.client.update_keys(true, &mut pair.client_output).expect("keys change");
        pair.client_write(b"more");
        pair.client.close(&mut pair.client_output);
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{mode:?}");
        assert_eq!(pair.to_server.data, [&[b'c'; 20_000][..], b"more"].concat());
        assert_eq!(pair.to_client.data, b"s");
        assert!(pair.to_server.closed);
        for length in [lengths(&pair.client_sent), lengths(&pair.server_sent)].concat() {
            assert!(length > 0 && length % 256 == 0, "{mode:?}: {length}");
        }
    }
}

#[test]
fn records_are_not_padded_by_default() {
    let mut pair = scene(Mode::Full, Padding::default()).pair();
    pair.run().client_write(b"c");
    pair.run();
    assert_eq!(lengths(&pair.client_sent).last(), Some(&1));
}

/// A peer's record_size_limit counts padding (RFC 8449 §4).
#[test]
fn padded_records_stay_within_the_peers_record_size_limit() {
    for (multiple, longest) in [(100, 299), (u16::MAX, 299), (99, 297)] {
        let mut scene = scene(Mode::Full, multiple_of(multiple));
        scene.client.record_size_limit = Some(300);
        scene.server.record_size_limit = Some(300);
        let mut pair = scene.pair();
        pair.run().server_write(&[b's'; 1_000]);
        pair.run().server_write(&[b's'; 298]);
        pair.run();
        assert_eq!(pair.to_client.error, None);
        assert_eq!(pair.to_client.data, [b's'; 1_298]);
        let lengths = lengths(&pair.server_sent);
        assert!(lengths.iter().all(|length| *length <= 299), "{lengths:?}");
        assert!(lengths.contains(&longest), "{lengths:?}");
    }
}

/// The protocol's own limit.
#[test]
fn records_can_be_padded_to_the_protocols_own_limit() {
    let mut pair = scene(Mode::Full, multiple_of(u16::MAX)).pair();
    pair.run().client_write(b"c");
    pair.run();
    assert_eq!(pair.to_server.data, b"c");
    assert!(lengths(&pair.client_sent).iter().all(|length| *length == 16_384));
}

/// A nearly full output accepts padded records as long as they fit.
#[test]
fn an_output_with_a_limit_takes_padded_records_as_long_as_they_fit() {
    let mut pair = scene(Mode::Full, multiple_of(1_000)).pair();
    pair.run();
    let mut output = Output::with_limit(20_000);
    let written = pair.client.write(&[b'c'; 100_000], &mut output);
    // One whole record, and as many thousands as fit after it.
    assert_eq!(written, Ok(16_384 + 3_000));
    assert!(output.as_slice().len() <= 20_000, "{}", output.as_slice().len());
    assert_eq!(pair.client.write(b"c", &mut output), Ok(0));
    let bytes = output.as_slice().to_vec();
    pair.deliver_to_server(&bytes);
    assert_eq!(pair.to_server.data.len(), 19_384);
}

/// A server that refuses early data ignores as much as it might have accepted, and can't distinguish data
/// from padding.
#[test]
fn early_data_and_its_padding_stay_within_the_tickets_limit() {
    for refused in [false, true] {
        let mut scene = scene(Mode::FsDhe, multiple_of(300));
        if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
            guard.max_early_data_size = 20_000;
        }
        let session = scene.session();
        if let (true, Some(guard)) = (refused, &mut scene.server.policy.early_data.forward_secret) {
            guard.vault = Arc::new(OneVault::default());
        }
        let mut pair = scene.start(session, at(0));
        assert_eq!(pair.client.early_data_room(), 20_000 - 300);
        let mut expected = EARLY_DATA.to_vec();
        loop {
            let written = pair.client.write_early_data(b"x", &mut pair.client_output);
            if written == Ok(0) {
                break;
            }
            assert_eq!(written, Ok(1));
            expected.push(b'x');
        }
        // 66 records of 300 bytes and one of 200.
        assert_eq!(expected.len(), EARLY_DATA.len() + 66);
        assert_eq!(pair.client.early_data_room(), 0);
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
        assert_eq!(pair.to_client.early_data_accepted, Some(!refused));
        assert_eq!(pair.to_server.early_data, if refused { vec![] } else { expected });
        pair.client_write(b"c");
        pair.run();
        assert_eq!(pair.to_server.data, b"c");
    }
}

/// The configuration chosen for a client counts.
#[test]
fn a_server_pads_as_its_chosen_configuration_sets() {
    use tessera::ServerConfig;
    use tessera::handshake::{Checked, ChooseConfig, ConfigChooser, NoConfig, Reply};

    struct Chooser(Checked<ServerConfig>);

    impl ConfigChooser for Chooser {
        fn choose(&self, _: &ChooseConfig) -> Reply<Result<Checked<ServerConfig>, NoConfig>> {
            Reply::Now(Ok(self.0.clone()))
        }
    }

    let mut scene = scene(Mode::Full, Padding::None);
    let chosen = ServerConfig { padding: multiple_of(512), ..scene.server.clone() };
    let chosen = chosen.checked().expect("works");
    scene.server.chooser = Some(Arc::new(Chooser(chosen)));
    let mut pair = scene.pair();
    pair.run();
    assert!(pair.to_client.complete);
    assert!(lengths(&pair.server_sent).iter().all(|length| length % 512 == 0));
}

#[test]
fn a_default_output_is_not_full() {
    assert!(!Output::default().is_full());
}
