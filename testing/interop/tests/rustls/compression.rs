//! Compressed certificates (RFC 8879): Tessera's codecs against those of rustls, which are another implementation
//! (zlib-rs) or at least another version (Brotli).

use std::sync::Arc;

use rustls::compress::{
    BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR, CertCompressor, CertDecompressor, ZLIB_COMPRESSOR,
    ZLIB_DECOMPRESSOR,
};
use tessera::auth::Credential;
use tessera::handshake::ClientAuthentication;
use tessera::wire::CertificateCompressionAlgorithm;
use tessera_interop::{Client, CountingCompression, Identity, Listener, client, server, to};

use crate::World;
use crate::peer::{Plan, connect, serve, talk_and_close};

type RustlsCompression = (&'static dyn CertCompressor, &'static dyn CertDecompressor);

const ALGORITHMS: [(CertificateCompressionAlgorithm, RustlsCompression); 2] = [
    (CertificateCompressionAlgorithm::ZLIB, (ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR)),
    (CertificateCompressionAlgorithm::BROTLI, (BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR)),
];

/// Returns the identity with the authority's certificate, so that there is something to compress.
fn longer(world: &World, identity: &Identity) -> Credential {
    let mut credential = identity.credential();
    credential.chain.push(world.pki.root());
    credential
}

/// Both sides' certificates, rustls' server.
#[test]
fn certificates_of_the_client_and_a_rustls_server_are_compressed() {
    let world = World::new();
    for (algorithm, (compressor, decompressor)) in ALGORITHMS {
        let mut rustls = world.rustls_server_mutual();
        rustls.cert_compressors = vec![compressor];
        rustls.cert_decompressors = vec![decompressor];
        let codec = CountingCompression::new(algorithm);
        let mut config = client(&world.pki);
        config.credentials = vec![longer(&world, &world.client)];
        config.certificate_codecs = vec![codec.clone()];
        let (address, thread) = serve(&Arc::new(rustls), Plan::talk());
        let mut end = Client::start(&config, to(None), address);
        let heard = talk_and_close(&mut end, thread);
        assert_eq!(heard.certificates, 2);
        assert_eq!(codec.counts(), (1, 1), "{algorithm:?}");
    }
}

/// Both sides' certificates, rustls' client.
#[test]
fn certificates_of_the_server_and_a_rustls_client_are_compressed() {
    let world = World::new();
    for (algorithm, (compressor, decompressor)) in ALGORITHMS {
        let mut rustls = world.rustls_client_mutual();
        rustls.cert_compressors = vec![compressor];
        rustls.cert_decompressors = vec![decompressor];
        let codec = CountingCompression::new(algorithm);
        let mut config = server(&world.server);
        config.credentials = vec![longer(&world, &world.server)];
        config.client_authentication = ClientAuthentication::Required(world.pki.verifier());
        config.certificate_codecs = vec![codec.clone()];
        let listener = Listener::new();
        let thread = connect(&Arc::new(rustls), listener.address(), Plan::talk());
        let mut end = listener.serve(&config);
        let heard = talk_and_close(&mut end, thread);
        assert_eq!(heard.certificates, 2);
        assert_eq!(codec.counts(), (1, 1), "{algorithm:?}");
    }
}

/// Without a common algorithm every certificate is sent whole.
#[test]
fn certificates_stay_whole_without_a_compression_in_common_with_rustls() {
    let world = World::new();
    let mut rustls = world.rustls_server_mutual();
    rustls.cert_compressors = vec![ZLIB_COMPRESSOR];
    rustls.cert_decompressors = vec![ZLIB_DECOMPRESSOR];
    let codec = CountingCompression::new(CertificateCompressionAlgorithm::BROTLI);
    let mut config = client(&world.pki);
    config.credentials = vec![world.client.credential()];
    config.certificate_codecs = vec![codec.clone()];
    let (address, thread) = serve(&Arc::new(rustls), Plan::talk());
    let mut end = Client::start(&config, to(None), address);
    talk_and_close(&mut end, thread);
    assert_eq!(codec.counts(), (0, 0));
}
