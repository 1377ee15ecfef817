//! The vault in etcd: how long a put and a take last, with three members on this machine.
//!
//! `cargo run --profile dist --package tessera-bench --bin etcd-vault [COUNT] [DIRECTORY]`
//!
//! etcd writes to the disk of DIRECTORY and waits for it (fsync) before it answers: that dominates the measurement.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tessera::crypto::{KeyForm, Secret};
use tessera::resume::{
    FlightHandle, OneTimeSecret, PutSecret, TakeAnswer, TakePurpose, TakeSecret,
};
use tessera::wire::NamedGroup;
use tessera_etcd::{EtcdClient, EtcdVault, Transport, VaultOptions};
use tessera_test_peers::etcd::Cluster;
use tessera_vault::{EpochKey, WrappingKeys, WrappingPurpose};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let count: u32 = arguments.next().map_or(Ok(2000), |count| count.parse())?;
    let dir = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let cluster = Cluster::start_with(3, None, &dir)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("three members, data in {}, plaintext, one client, {count} secrets", dir.display());
    runtime.block_on(async {
        for (name, member) in
            [("the leader", cluster.leader()?), ("a follower", follower(&cluster)?)]
        {
            let vault = vault(cluster.endpoints()[member].clone(), name)?;
            let (mut puts, mut takes) = (Vec::new(), Vec::new());
            for number in 0..count {
                let began = Instant::now();
                put(&vault, handle(number)).await?;
                puts.push(began.elapsed());
            }
            for number in 0..count {
                let began = Instant::now();
                take(&vault, handle(number)).await?;
                takes.push(began.elapsed());
            }
            println!("through {name}: puts {}, takes {}", summary(puts), summary(takes));
        }
        Ok(())
    })
}

fn follower(cluster: &Cluster) -> Result<usize, Failure> {
    Ok((cluster.leader()? + 1) % 3)
}

fn vault(endpoint: String, name: &str) -> Result<EtcdVault, Failure> {
    let provider = tessera_aws_lc::provider();
    let keys = WrappingKeys::new(&provider, WrappingPurpose::Secrets);
    keys.add(EpochKey::forever([1; 16], [7; 32].into()), now()?)?;
    let transport = Transport::PlaintextOnPrivateNetwork;
    let client = EtcdClient::new(vec![endpoint], transport, Duration::from_secs(5));
    let options = VaultOptions::new(format!("/bench/{name}/"));
    Ok(EtcdVault::open(client, &provider, Arc::new(keys), options))
}

async fn put(vault: &EtcdVault, handle: FlightHandle) -> Result<(), Failure> {
    let secret = OneTimeSecret {
        kind: NamedGroup::X25519,
        form: KeyForm::Seed,
        key: vec![7; 32].into(),
        fs_secret: Secret::filled_by(48, |out| out.fill(9)),
    };
    let unix = now()?;
    let expires_at = unix + Duration::from_secs(3600);
    let put = PutSecret::new(handle, secret, expires_at, unix);
    Ok(vault.put_now(put).await.map_err(|_| "a put was refused")?)
}

async fn take(vault: &EtcdVault, handle: FlightHandle) -> Result<(), Failure> {
    let question = TakeSecret::new(handle, TakePurpose::Accept, Some(now()?));
    match vault.take_secret(&question).await {
        TakeAnswer::Taken(_) => Ok(()),
        other => Err(format!("a take was answered {other:?}").into()),
    }
}

fn handle(number: u32) -> FlightHandle {
    let mut id = [0xa5; 32];
    id[..4].copy_from_slice(&number.to_be_bytes());
    FlightHandle(id)
}

fn summary(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |percent: usize| {
        let index = times.len() * percent / 100;
        times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    format!("p50 {:.2} ms, p99 {:.2} ms", at(50), at(99))
}

fn now() -> Result<Duration, Failure> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?)
}
