//! What the provider offers, and its three uses: agree on a key, protect a record, sign.
//!
//! ```text
//! cargo run -p tessera-aws-lc --example provider
//! ```
//!
//! The engine makes these calls. Programs only hand the provider to a configuration, and a
//! [`SigningKey`] to a credential.

use std::error::Error;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use tessera::crypto::Signer;
use tessera::wire::NamedGroup;
use tessera_aws_lc::{SigningKey, provider};

fn main() -> Result<(), Box<dyn Error>> {
    let provider = provider();
    for suite in provider.suites {
        println!("suite  {:?}", suite.id);
    }
    for group in provider.groups {
        let (share, reply) = (group.share_len(), group.reply_len());
        println!("group  {:?}: {share} bytes from the client, {reply} back", group.group());
    }
    for keys in provider.one_time_keys {
        println!("one-time key  {:?}: {} bytes in a ticket", keys.kind(), keys.public_len());
    }

    // A client generates, a server encapsulates, the client decapsulates: Diffie-Hellman and ML-KEM alike.
    let hybrid = provider.group(NamedGroup::X25519MLKEM768).ok_or("not offered")?;
    let ephemeral = hybrid.generate().map_err(|error| format!("{error:?}"))?;
    let (reply, of_server) =
        hybrid.encapsulate(ephemeral.share()).map_err(|error| format!("{error:?}"))?;
    let of_client = ephemeral.decapsulate(&reply).map_err(|error| format!("{error:?}"))?;
    println!("agreed the same secret: {}", of_client.expose() == of_server.expose());

    // The private key of a certificate, as PKCS#8.
    let pkcs8 =
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new())?;
    let key = SigningKey::from_pkcs8(pkcs8.as_ref())?;
    let scheme = *key.schemes().first().ok_or("a key that signs nothing")?;
    let signature = key.sign(scheme, b"message").map_err(|error| format!("{error:?}"))?;
    println!("signed with {scheme:?}: {} bytes", signature.len());
    Ok(())
}
