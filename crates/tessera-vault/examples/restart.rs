//! A server that restarts: its ticket keys and its vault pass from one process to the next, and a client's
//! forward-secret early data is accepted after the restart, once.
//!
//! ```text
//! cargo run -p tessera-vault --example restart
//! ```

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::crypto::Provider;
use tessera::resume::{ClientSession, OneTimeKeyGuard, Vault};
use tessera::{ServerConfig, Time};
use tessera_harness::{Mode, Scene};
use tessera_vault::{
    EpochKey, Limits, MemoryVault, TicketKey, TicketKeyRing, WrappingKeys, WrappingPurpose,
};

fn main() -> Result<(), Box<dyn Error>> {
    let provider = tessera_aws_lc::provider();
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let directory = std::env::temp_dir().join(format!("tessera-restart-{}", std::process::id()));

    // Secrets that outlive the process come from elsewhere: a secret manager, a TPM, a file on a tmpfs. The
    // ticket key travels wrapped; here it stays in a variable.
    let snapshot_keys = WrappingKeys::new(&provider, WrappingPurpose::Snapshot);
    let mut secret = [0; 32];
    provider.random.fill(&mut secret).map_err(|_| "no random bytes")?;
    snapshot_keys.add(EpochKey::forever([1; 16], secret.into()), now)?;
    let day = Duration::from_secs(24 * 3600);
    let ticket_key = TicketKey::generate(&provider, now, day, day)?.encode();

    // The first process: a full handshake, and tickets with one-time keys.
    let time = Time { monotonic: Duration::ZERO, unix: Some(now) };
    let mut scene = Scene::new(provider, Mode::FsDhe);
    let vault = open(&directory, &provider, &snapshot_keys, now)?;
    configure(&mut scene.server, vault.clone(), &ticket_key, now)?;
    let session = scene.start(None, time).run().to_client.sessions.pop().ok_or("no session")?;
    println!("at the end of the first process: {} one-time keys", vault.len());
    vault.close(&provider, &snapshot_keys, now)?;
    scene.server.policy.early_data.forward_secret = None;
    drop(vault);

    // The second process: the snapshot is unlinked before the first client is served.
    let vault = open(&directory, &provider, &snapshot_keys, now)?;
    println!("at the beginning of the second: {} one-time keys", vault.len());
    configure(&mut scene.server, vault, &ticket_key, now)?;
    let copy = ClientSession::import(&session.export())?;
    for (what, session) in [("the client comes back", session), ("and once more", copy)] {
        let mut pair = scene.start(Some(session), time);
        let client = &pair.run().to_client;
        let accepted = client.early_data_accepted == Some(true);
        println!("{what}: early data accepted: {accepted}, verdict: {:?}", client.verdict);
    }
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

/// Opens the vault that the previous process closed; a crashed process leaves nothing.
fn open(
    directory: &Path,
    provider: &Provider,
    keys: &WrappingKeys,
    now: Duration,
) -> std::io::Result<Arc<MemoryVault>> {
    let (vault, restored) =
        MemoryVault::open(directory, Limits::new(100_000), provider, keys, now)?;
    println!("opened the vault: {restored:?}");
    Ok(Arc::new(vault))
}

/// Configures a server with its ticket keys and its vault.
fn configure(
    config: &mut ServerConfig,
    vault: Arc<MemoryVault>,
    ticket_key: &[u8],
    now: Duration,
) -> Result<(), Box<dyn Error>> {
    let ring = TicketKeyRing::new(&config.provider);
    ring.add(TicketKey::decode(ticket_key).ok_or("not a ticket key")?, now)?;
    config.tickets = Some(Arc::new(ring));
    config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault));
    Ok(())
}
