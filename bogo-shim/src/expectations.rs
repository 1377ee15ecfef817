//! Checks the expected result of a handshake.

use tessera::resume::PskKind;
use tessera::{EarlyDataStatus, Facts};

use crate::options::Options;

/// Checks a complete handshake.
pub fn check(
    options: &Options,
    is_resume: bool,
    facts: &Facts,
    selected_credential: i32,
) -> Result<(), String> {
    let expect = |holds: bool, what: &str| match holds {
        true => Ok(()),
        false => Err(format!("unexpected {what}: {facts:?}")),
    };
    let resumed = facts.psk == Some(PskKind::Resumption);
    expect(resumed == (is_resume && !options.expect_session_miss), "resumption")?;
    let group = facts.group.map(|group| group.0);
    expect(options.expect_curve.is_none_or(|curve| group == Some(curve)), "group")?;
    let suite = facts.suite.map(|suite| suite.0);
    let by_hardware =
        if has_aes() { options.expect_cipher_aes } else { options.expect_cipher_no_aes };
    for cipher in options.expect_cipher.into_iter().chain(by_hardware) {
        expect(suite == Some(cipher), "suite")?;
    }
    if let Some(scheme) = options.expect_peer_signature_algorithm
        && !options.is_server
        && facts.psk.is_none()
    {
        expect(facts.signature_scheme.is_some_and(|s| s.0 == scheme), "signature scheme")?;
    }
    let protocol = match options.is_server {
        true => &options.select_alpn,
        false => &options.expect_alpn,
    };
    let protocol = protocol.as_deref().unwrap_or_default();
    expect(facts.protocol.as_deref().unwrap_or_default() == protocol, "protocol")?;
    let name = facts.server_name.as_ref();
    expect(
        options.expect_server_name.is_none() || name == options.expect_server_name.as_ref(),
        "name",
    )?;
    expect(!options.expect_no_server_name || name.is_none(), "name")?;
    expect(!options.expect_hrr || facts.hello_retry, "HelloRetryRequest")?;
    expect(!options.expect_no_hrr || !facts.hello_retry, "HelloRetryRequest")?;
    let accepted = facts.early_data == EarlyDataStatus::Accepted;
    expect(!options.expect_accept_early_data || accepted || options.dtls, "early data")?;
    expect(!options.expect_reject_early_data || !accepted, "early data")?;
    if options.expect_no_peer_cert || facts.external_psk.is_some() {
        expect(facts.peer.is_none(), "peer")?;
    } else if !options.is_server || options.require_client_certificate {
        expect(facts.peer.is_some(), "peer")?;
    }
    let selected = options.expect_selected_credential.unwrap_or(selected_credential);
    expect(selected == selected_credential, "credential")
}

/// Whether this processor has instructions for AES.
fn has_aes() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("aes");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("aes");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return false;
}
