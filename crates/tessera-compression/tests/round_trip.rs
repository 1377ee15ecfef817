//! Chains through the codecs, and hostile input.

use std::sync::Arc;
use std::time::Duration;

use tessera::Time;
use tessera::auth::{
    CertificateCodec, CertificateCodecFactory, CertificateContents, CertificateNotDecoded,
    EncodedCertificate, PeerInfo, ServerInfo,
};
use tessera::wire::CertificateCompressionAlgorithm;
use tessera_compression::Zlib;

/// Returns a codec of each algorithm, as a client's connection has it.
fn codecs() -> Vec<Box<dyn CertificateCodec>> {
    tessera_compression::codecs().into_iter().map(codec).collect()
}

fn codec(factory: Arc<dyn CertificateCodecFactory>) -> Box<dyn CertificateCodec> {
    let now = Time { monotonic: Duration::ZERO, unix: None };
    let algorithms = factory.algorithms();
    let server = ServerInfo::new("server.example", now);
    let codec = factory.codec(PeerInfo::Server(&server)).expect("no refusal");
    let codec = codec.expect("for everybody");
    assert!(algorithms.start() == algorithms.end() && codec.offers() == [*algorithms.start()]);
    codec
}

/// Encodes for a peer that can decode everything.
fn encoded(codec: &mut Box<dyn CertificateCodec>, body: &[u8]) -> Option<Vec<u8>> {
    let all = [1, 2, 3].map(CertificateCompressionAlgorithm);
    let encoded: EncodedCertificate = codec.encode(body, &all)?;
    assert_eq!(codec.offers(), [encoded.algorithm]);
    Some(encoded.encoded)
}

/// Returns data like a Certificate: much that repeats, and keys and signatures that don't.
fn body(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let noise = core::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    });
    let text = b"0\x82\x01\x0aCN=Example Certification Authority, O=Example".iter().cycle();
    let mixed = text.zip(noise).enumerate();
    mixed
        .map(|(at, (text, noise))| if at / 100 % 3 == 2 { noise } else { *text })
        .take(len)
        .collect()
}

fn encode(codec: &mut Box<dyn CertificateCodec>, body: &[u8]) -> Vec<u8> {
    encoded(codec, body).expect("it becomes shorter")
}

fn decode(
    codec: &mut Box<dyn CertificateCodec>,
    encoded: &[u8],
    len: usize,
) -> Result<Vec<u8>, CertificateNotDecoded> {
    let algorithm = codec.offers()[0];
    let decoded = codec.decode(algorithm, encoded, len)?;
    assert!(decoded.is_what_was_sent && !decoded.conceals_verdict);
    // Compression yields a body, never a known chain.
    assert!(matches!(decoded.contents, CertificateContents::Body(_)), "{decoded:?}");
    match decoded.contents {
        CertificateContents::Body(body) => Ok(body),
        CertificateContents::Known(_) => Err(CertificateNotDecoded::Malformed),
    }
}

#[test]
fn compressed_certificates_are_decompressed_to_what_they_were() {
    for codec in &mut codecs() {
        for len in [100, 1000, 4000, 128 * 1024] {
            let body = body(len);
            let encoded = encode(codec, &body);
            assert!(encoded.len() < len);
            assert_eq!(decode(codec, &encoded, len), Ok(body.clone()));
            // Once more, from the cache.
            assert_eq!(encode(codec, &body), encoded);
        }
    }
}

#[test]
fn a_certificate_that_does_not_become_shorter_stays_whole() {
    let noise: Vec<u8> = body(300).split_off(200);
    for codec in &mut codecs() {
        assert_eq!(encoded(codec, &noise[..40]), None);
        assert_eq!(encoded(codec, &[]), None);
    }
}

#[test]
fn no_more_is_decompressed_than_there_is_room_for() {
    // 1 MiB of zeros in a few bytes.
    let bomb = vec![0; 1 << 20];
    for codec in &mut codecs() {
        let encoded = encode(codec, &bomb);
        assert!(encoded.len() < 2000);
        for room in [0, 1, 1000, 128 * 1024] {
            assert_eq!(decode(codec, &encoded, room), Err(CertificateNotDecoded::Malformed));
        }
        let encoded = encode(codec, &body(1000));
        for room in [0, 1, 500, 999] {
            assert_eq!(
                decode(codec, &encoded, room),
                Err(CertificateNotDecoded::Malformed),
                "{room}"
            );
        }
        // A shorter body shows by its length, which the engine compares.
        assert_eq!(decode(codec, &encoded, 1001), Ok(body(1000)));
    }
}

#[test]
fn a_compressed_stream_that_is_cut_or_followed_by_more_is_refused() {
    for codec in &mut codecs() {
        let body = body(1000);
        let encoded = encode(codec, &body);
        for len in 0..encoded.len() {
            assert_eq!(
                decode(codec, &encoded[..len], 1000),
                Err(CertificateNotDecoded::Malformed),
                "{len}"
            );
        }
        let longer = [&encoded[..], &[0]].concat();
        assert_eq!(decode(codec, &longer, 1000), Err(CertificateNotDecoded::Malformed));
        let twice = encoded.repeat(2);
        assert_eq!(decode(codec, &twice, 2000), Err(CertificateNotDecoded::Malformed));
    }
}

/// No input makes a decoder panic, or produce output that zlib's checksum doesn't match.
#[test]
fn flipped_bits_make_no_decoder_panic() {
    for codec in &mut codecs() {
        let body = body(1000);
        let encoded = encode(codec, &body);
        for bit in 0..8 * encoded.len() {
            let mut flipped = encoded.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let decoded = decode(codec, &flipped, 1000);
            if codec.offers() == [CertificateCompressionAlgorithm::ZLIB] {
                // Some bits are padding, and decoders ignore the level in the header.
                assert!(decoded.is_err() || decoded == Ok(body.clone()), "{bit}");
            }
        }
    }
}

#[test]
fn noise_makes_no_decoder_panic() {
    let noise: Vec<u8> =
        (200..1700).step_by(300).flat_map(|at| body(at + 100).split_off(at)).collect();
    for codec in &mut codecs() {
        for start in 0..250 {
            for len in 0..50 {
                // The result doesn't matter.
                let _ = decode(codec, &noise[start..start + len], 2000);
            }
        }
    }
}

/// A stream made by zlib itself (Python's module).
#[test]
fn a_stream_made_by_zlib_itself_is_decompressed() {
    let text = b"certificate certificate certificate";
    let zlib = &mut codec(Arc::new(Zlib::default()));
    assert_eq!(decode(zlib, ZLIB, text.len()), Ok(text.to_vec()));
    // Raw DEFLATE is not zlib.
    assert_eq!(decode(zlib, &ZLIB[2..], text.len()), Err(CertificateNotDecoded::Malformed));
}

const ZLIB: &[u8] = &[
    120, 218, 75, 78, 45, 42, 201, 76, 203, 76, 78, 44, 73, 85, 72, 198, 206, 6, 0, 248, 114, 13,
    202,
];

/// RFC 7932 §9.1: an empty last metablock in a window of 64 KiB; and the same in a large window, which RFC 7932 doesn't
/// have.
#[cfg(feature = "brotli")]
#[test]
fn brotli_with_large_windows_is_refused() {
    let brotli = &mut codec(Arc::new(tessera_compression::Brotli::default()));
    assert_eq!(decode(brotli, &[0x06], 100), Ok(Vec::new()));
    assert_eq!(decode(brotli, &[0x11, 0xd8], 100), Err(CertificateNotDecoded::Malformed));
}

/// Nothing is compressed for a peer that can't decompress it, and connections share the cache.
#[test]
fn certificates_are_compressed_only_for_peers_that_can_decompress_them() {
    for factory in tessera_compression::codecs() {
        let other = [CertificateCompressionAlgorithm(0xff01)];
        let mut codecs = [codec(factory.clone()), codec(factory)];
        for codec in &mut codecs {
            assert_eq!(codec.encode(&body(1000), &[]), None);
            assert_eq!(codec.encode(&body(1000), &other), None);
        }
        let [one, two] = &mut codecs;
        assert_eq!(encode(one, &body(1000)), encode(two, &body(1000)));
    }
}
