//! Compressed certificates (RFC 8879), of either side: which end compresses with what, and the results of
//! forged lengths, algorithms and contents.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tessera::Error;
use tessera::auth::{CertificateCodecFactory, CertificateCompression, CertificateNotDecoded};
use tessera::wire::{
    AlertDescription, CertificateCompressionAlgorithm, ContentType, ExtensionType, HandshakeType,
};
use tessera_harness::{
    Hello, Mode, Pair, ReceivedData, Scene, Sealer, message, messages, open_all, plain, records,
    rewrite, vec16,
};

/// Run-length encoding, as count and byte.
struct RunLengths {
    algorithm: u16,
    encodes: bool,
    encoded: AtomicUsize,
    decoded: AtomicUsize,
}

impl RunLengths {
    fn new(algorithm: u16) -> Arc<Self> {
        Self::with(algorithm, true)
    }

    fn with(algorithm: u16, encodes: bool) -> Arc<Self> {
        let (encoded, decoded) = Default::default();
        Arc::new(Self { algorithm, encodes, encoded, decoded })
    }
}

fn runs(body: &[u8]) -> Vec<u8> {
    let runs = body.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(255));
    runs.flat_map(|run| [run.len() as u8, run[0]]).collect()
}

impl CertificateCompression for RunLengths {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm(self.algorithm)
    }

    fn compress(&self, body: &[u8]) -> Option<Vec<u8>> {
        self.encoded.fetch_add(1, Ordering::Relaxed);
        self.encodes.then(|| runs(body))
    }

    fn decompress(&self, encoded: &[u8], body: &mut [u8]) -> Result<usize, CertificateNotDecoded> {
        self.decoded.fetch_add(1, Ordering::Relaxed);
        let mut at = 0;
        for run in encoded.chunks(2) {
            let [len, byte] = *run else { return Err(CertificateNotDecoded::Malformed) };
            let end = at + usize::from(len);
            body.get_mut(at..end).ok_or(CertificateNotDecoded::Malformed)?.fill(byte);
            at = end;
        }
        Ok(at)
    }
}

const ONE: u16 = 0xff01;
const OTHER: u16 = 0xff02;

fn codecs(algorithms: &[u16]) -> Vec<Arc<dyn CertificateCodecFactory>> {
    algorithms.iter().map(|id| RunLengths::new(*id) as _).collect()
}

/// A full handshake with certificates of both sides.
fn scene(client: &[u16], server: &[u16]) -> Scene {
    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Mutual);
    scene.client.certificate_codecs = codecs(client);
    scene.server.certificate_codecs = codecs(server);
    scene
}

/// The only Certificate of a direction, as sent.
fn certificate(sent: &[u8], mut sealers: Vec<Sealer>) -> Vec<u8> {
    let opened = open_all(sent, &mut sealers);
    let sent = opened.iter().filter(|(_, typ, _)| *typ == ContentType::HANDSHAKE);
    let sent: Vec<u8> = sent.flat_map(|(_, _, content)| content.clone()).collect();
    let mut found = messages(&sent);
    found.retain(|message| is_certificate(message));
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn is_certificate(message: &[u8]) -> bool {
    [HandshakeType::CERTIFICATE.0, HandshakeType::COMPRESSED_CERTIFICATE.0].contains(&message[0])
}

/// The algorithms with which the server and the client compress; `None` if a Certificate is whole.
fn used(scene: &Scene) -> [Option<u16>; 2] {
    let mut pair = scene.pair();
    pair.run();
    assert!(pair.to_client.complete && pair.to_server.complete, "{:?}", pair.to_client.error);
    let server = certificate(&pair.server_sent, scene.server_sealers());
    let client = certificate(&pair.client_sent, scene.client_sealers());
    [server, client].map(|message| {
        let compressed = message[0] == HandshakeType::COMPRESSED_CERTIFICATE.0;
        compressed.then(|| u16::from_be_bytes([message[4], message[5]]))
    })
}

#[test]
fn certificates_of_both_sides_are_compressed_where_the_peer_offers_it() {
    assert_eq!(used(&scene(&[ONE], &[ONE])), [Some(ONE); 2]);
    assert_eq!(used(&scene(&[ONE], &[])), [None; 2]);
    assert_eq!(used(&scene(&[], &[ONE])), [None; 2]);
    assert_eq!(used(&scene(&[ONE], &[OTHER])), [None; 2]);
    // The sender's preference decides.
    assert_eq!(used(&scene(&[OTHER, ONE], &[ONE, OTHER])), [Some(ONE), Some(OTHER)]);
    assert_eq!(used(&scene(&[ONE], &[OTHER, ONE])), [Some(ONE); 2]);
}

#[test]
fn a_codec_may_leave_a_certificate_whole() {
    let (reluctant, willing) = (RunLengths::with(ONE, false), RunLengths::new(ONE));
    let mut scene = scene(&[], &[]);
    scene.client.certificate_codecs = vec![willing.clone()];
    scene.server.certificate_codecs = vec![reluctant.clone()];
    assert_eq!(used(&scene), [None, Some(ONE)]);
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    assert_eq!([count(&reluctant.encoded), count(&reluctant.decoded)], [1, 1]);
    assert_eq!([count(&willing.encoded), count(&willing.decoded)], [1, 0]);
}

#[test]
fn retries_and_resumptions_complete_with_certificate_compression() {
    for mode in [Mode::Retry, Mode::PskDhe] {
        let mut scene = Scene::new(tessera_null_provider::provider(), mode);
        scene.client.certificate_codecs = codecs(&[ONE]);
        scene.server.certificate_codecs = codecs(&[ONE]);
        let mut pair = scene.pair();
        pair.run();
        assert!(pair.to_client.complete && pair.to_server.complete);
        assert_eq!(pair.client.facts().psk.is_some(), mode == Mode::PskDhe);
    }
}

fn alert(received: &ReceivedData) -> Option<AlertDescription> {
    received.error.as_ref().and_then(Error::alert)
}

/// The alerts of client and server when `edit` changes the other's Certificate.
fn after(scene: &Scene, edit: impl Fn(&mut Vec<u8>)) -> [Option<AlertDescription>; 2] {
    let edit = |message: &mut Vec<u8>| {
        if is_certificate(message) {
            edit(message);
        }
    };
    let mut of_server = scene.pair();
    of_server.client_to_server();
    let flight = of_server.intercept_server();
    of_server.deliver_to_client(&rewrite(&flight, || scene.server_sealers(), edit));

    let mut of_client = scene.pair();
    of_client.client_to_server();
    of_client.server_to_client();
    let flight = of_client.intercept_client();
    of_client.deliver_to_server(&rewrite(&flight, || scene.client_sealers(), edit));
    assert!(!of_server.to_client.complete && !of_client.to_server.complete);
    [alert(&of_server.to_client), alert(&of_client.to_server)]
}

/// A CompressedCertificate.
fn compressed(algorithm: u16, uncompressed_len: usize, content: &[u8]) -> Vec<u8> {
    let [.., a, b, c] = uncompressed_len.to_be_bytes();
    let [.., d, e, f] = content.len().to_be_bytes();
    let [high, low] = algorithm.to_be_bytes();
    let body = [&[high, low, a, b, c, d, e, f], content].concat();
    message(HandshakeType::COMPRESSED_CERTIFICATE, &body)
}

/// The alerts after this message in place of either side's Certificate.
fn instead(replacement: &[u8]) -> [Option<AlertDescription>; 2] {
    after(&scene(&[ONE], &[ONE]), |message| *message = replacement.to_vec())
}

const BAD: [Option<AlertDescription>; 2] = [Some(AlertDescription::BAD_CERTIFICATE); 2];
const DECODE: [Option<AlertDescription>; 2] = [Some(AlertDescription::DECODE_ERROR); 2];
const ILLEGAL: [Option<AlertDescription>; 2] = [Some(AlertDescription::ILLEGAL_PARAMETER); 2];

/// The body of a Certificate with one certificate.
fn body() -> Vec<u8> {
    let mut body = vec![0, 0, 0, 105, 0, 0, 100];
    body.extend([0x30; 100]);
    body.extend([0, 0]);
    body
}

#[test]
fn a_rightly_compressed_certificate_of_a_forger_is_read_up_to_finished() {
    // Read like the original: only Finished shows that it is not what the peer sent.
    let right = compressed(ONE, body().len(), &runs(&body()));
    assert_eq!(instead(&right), [Some(AlertDescription::DECRYPT_ERROR); 2]);
}

#[test]
fn a_certificate_of_another_length_than_announced_is_refused() {
    let body = body();
    for len in [0, 1, body.len() - 1, body.len() + 1, 1000] {
        assert_eq!(instead(&compressed(ONE, len, &runs(&body))), BAD, "{len}");
    }
}

#[test]
fn a_certificate_that_announces_too_much_is_not_decompressed() {
    const LONGEST: usize = 128 * 1024 - 4;
    // One decoding of each bomb that fits, and one of the server's own Certificate before the client's bomb.
    for (len, tried) in [(LONGEST, 3), (LONGEST + 1, 1), (0xff_ffff, 1)] {
        let codec = RunLengths::new(ONE);
        let mut scene = scene(&[], &[]);
        scene.client.certificate_codecs = vec![codec.clone()];
        scene.server.certificate_codecs = vec![codec.clone()];
        let bomb = compressed(ONE, len, &[255, 0].repeat(2000));
        assert_eq!(after(&scene, |message| *message = bomb.clone()), BAD);
        assert_eq!(codec.decoded.load(Ordering::Relaxed), tried, "{len}");
    }
}

#[test]
fn a_certificate_that_does_not_decompress_is_refused() {
    for garbage in [&[1][..], &[255, 0, 255], &[0; 99]] {
        assert_eq!(instead(&compressed(ONE, body().len(), garbage)), BAD);
    }
}

#[test]
fn a_certificate_compressed_with_an_algorithm_not_offered_is_refused() {
    for algorithm in [OTHER, 0, 1, 2, 3] {
        let other = compressed(algorithm, body().len(), &runs(&body()));
        assert_eq!(instead(&other), ILLEGAL);
    }
    // Nothing was offered, so the message is unexpected.
    let message = compressed(ONE, body().len(), &runs(&body()));
    let alerts = after(&scene(&[], &[]), |whole| *whole = message.clone());
    assert_eq!(alerts, [Some(AlertDescription::UNEXPECTED_MESSAGE); 2]);
}

#[test]
fn malformed_compressed_certificates_are_refused() {
    assert_eq!(instead(&compressed(ONE, body().len(), &[])), DECODE);
    assert_eq!(instead(&message(HandshakeType::COMPRESSED_CERTIFICATE, &[])), DECODE);
    let right = compressed(ONE, body().len(), &runs(&body()));
    for len in 4..right.len() {
        let mut short = right[..len].to_vec();
        short[1..4].copy_from_slice(&(len as u32 - 4).to_be_bytes()[1..]);
        assert_eq!(instead(&short), DECODE, "{len}");
    }
    let long = message(HandshakeType::COMPRESSED_CERTIFICATE, &[&right[4..], &[0]].concat());
    assert_eq!(instead(&long), DECODE);
}

#[test]
fn a_decompressed_certificate_is_read_like_any_other() {
    let of = |body: &[u8]| instead(&compressed(ONE, body.len(), &runs(body)));
    let decode = Some(AlertDescription::DECODE_ERROR);
    // Empty; a context; too many bytes; no certificate.
    assert_eq!(instead(&compressed(ONE, 0, &[0, 7])), DECODE);
    assert_eq!(of(&[1, 0, 0, 0, 0]), DECODE);
    assert_eq!(of(&[body(), vec![0]].concat()), DECODE);
    assert_eq!(of(&[0, 0, 0, 0]), [decode, Some(AlertDescription::CERTIFICATE_REQUIRED)]);
    // An extension that wasn't asked for.
    let mut stapled = vec![0, 0, 0, 109, 0, 0, 100];
    stapled.extend([0x30; 100]);
    stapled.extend([0, 4, 0, 5, 0, 0]);
    assert_eq!(of(&stapled), [Some(AlertDescription::UNSUPPORTED_EXTENSION); 2]);
}

#[test]
fn any_flipped_bit_in_a_compressed_certificate_is_noticed() {
    let scene = scene(&[ONE], &[ONE]);
    // 0x30 three hundred times: a frame, four fields and a few runs.
    for bit in 32..8 * 24 {
        let flipped = after(&scene, |message| {
            let at = (bit / 8) % message.len();
            message[at] ^= 1 << (bit % 8);
        });
        assert!(flipped.iter().all(Option::is_some), "{bit}: {flipped:?}");
    }
}

/// A server's alert after a hello with this compress_certificate.
fn after_hello(extension: &[u8]) -> Option<AlertDescription> {
    let mut pair = scene(&[ONE], &[ONE]).pair();
    let flight = pair.intercept_client();
    let mut hello = Hello::read(&records(&flight)[0][5..]);
    assert_eq!(hello.extension(ExtensionType::COMPRESS_CERTIFICATE), Some(&vec![2, 0xff, 1]));
    hello.set(ExtensionType::COMPRESS_CERTIFICATE, extension);
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    alert(&pair.to_server)
}

/// A client's alert after a CertificateRequest with this compress_certificate.
fn after_request(extension: &[u8]) -> Option<AlertDescription> {
    let scene = scene(&[ONE], &[ONE]);
    let mut pair = scene.pair();
    pair.client_to_server();
    let flight = pair.intercept_server();
    let mut seen = false;
    let edit = |request: &mut Vec<u8>| {
        if request[0] == HandshakeType::CERTIFICATE_REQUEST.0 {
            let offered = [0, 27, 0, 3, 2, 0xff, 1];
            seen = request.windows(7).any(|window| window == offered);
            let algorithms = [&[0, 13, 0, 4, 0, 2, 4, 3, 0, 27][..], &vec16(extension)].concat();
            let body = [&[0][..], &vec16(&algorithms)].concat();
            *request = message(HandshakeType::CERTIFICATE_REQUEST, &body);
        }
    };
    let forged = rewrite(&flight, || scene.server_sealers(), edit);
    assert!(seen, "the server lists what it can decompress");
    pair.deliver_to_client(&forged);
    alert(&pair.to_client)
}

#[test]
fn malformed_lists_of_compression_algorithms_are_refused() {
    let decode = Some(AlertDescription::DECODE_ERROR);
    let illegal = Some(AlertDescription::ILLEGAL_PARAMETER);
    let cases = [
        (&[][..], decode),
        (&[0], decode),
        (&[1, 0], decode),
        (&[3, 0, 1, 0], decode),
        (&[2, 0, 1, 0], decode),
        (&[4, 0, 1], decode),
        (&[4, 0, 1, 0, 1], illegal),
        (&[6, 0, 1, 0xff, 1, 0, 1], illegal),
    ];
    for (extension, expected) in cases {
        assert_eq!(after_hello(extension), expected, "{extension:?}");
        assert_eq!(after_request(extension), expected, "{extension:?}");
    }
    // Unknown ones are ignored.
    assert_eq!(after_hello(&[6, 0x0a, 0x0a, 0, 1, 0xff, 1]), None);
}

#[test]
fn compress_certificate_in_encrypted_extensions_is_refused() {
    for (client, expected) in [
        (&[ONE][..], AlertDescription::ILLEGAL_PARAMETER),
        (&[], AlertDescription::UNSUPPORTED_EXTENSION),
    ] {
        let scene = scene(client, &[ONE]);
        let mut pair = scene.pair();
        pair.client_to_server();
        let flight = pair.intercept_server();
        let edit = |message: &mut Vec<u8>| {
            if message[0] == HandshakeType::ENCRYPTED_EXTENSIONS.0 {
                let body = vec16(&[0, 27, 0, 3, 2, 0xff, 1]);
                *message = tessera_harness::message(HandshakeType::ENCRYPTED_EXTENSIONS, &body);
            }
        };
        pair.deliver_to_client(&rewrite(&flight, || scene.server_sealers(), edit));
        assert_eq!(alert(&pair.to_client), Some(expected));
    }
}

#[test]
fn a_configuration_that_names_a_compression_algorithm_twice_is_refused() {
    let twice = scene(&[ONE, OTHER, ONE], &[ONE, ONE]);
    let many: Vec<u16> = (0..128).collect();
    let many = scene(&many, &many);
    for scene in [twice, many] {
        assert!(matches!(scene.client.checked().err(), Some(Error::Configuration(_))));
        assert!(matches!(scene.server.checked().err(), Some(Error::Configuration(_))));
    }
    let most: Vec<u16> = (0..127).collect();
    let mut pair: Pair = scene(&most, &most).pair();
    pair.run();
    assert!(pair.to_client.complete);
}
