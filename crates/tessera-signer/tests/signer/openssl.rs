//! OpenSSL's client at a server whose key is at a signer.

use tessera_pki::rcgen;
use tessera_test_peers::{Directory, openssl};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::common::*;

#[tokio::test(flavor = "multi_thread")]
async fn openssl_completes_handshakes_that_a_signer_signs() {
    let directory = Directory::new();
    for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ED25519, &rcgen::PKCS_RSA_SHA256]
    {
        let world = World::new();
        let leaf = world.leaf(algorithm);
        let ca = directory.write("ca.pem", world.origin.pem());
        let signer = world.signer_of(&leaf).await;
        let server = world.server(&leaf, world.remote(&[signer.address], limits(PATIENCE)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            let (socket, _) = listener.accept().await.unwrap();
            let mut stream = server.accept(socket).await.unwrap();
            stream.write_all(b"signed elsewhere\n").await.unwrap();
            stream.shutdown().await.unwrap();
        });
        let arguments = ["-CAfile", &ca, "-verify_return_error", "-verify_hostname", "www.example"];
        let client = openssl::s_client(address, &arguments);
        tokio::task::block_in_place(|| {
            client.says("signed elsewhere").says("Verify return code: 0 (ok)");
        });
        serving.await.unwrap();
        assert_eq!(signer.count("tessera_signer_signatures_total{key=\"www\"}"), 1);
    }
}
