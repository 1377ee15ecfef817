//! What a request costs at an edge proxy, in processor time: `tessera edge` with 50,000 bindings, Envoy that asks the same for
//! each request by `ext_authz`, Envoy that asks nothing, and nghttpx. TLS 1.3 towards the client, HTTP/2 on both sides; one
//! thread each.
//!
//! `edge-requests --program TESSERA --envoy ENVOY [--rounds N] [--count N]`; see README.md.

#[path = "../sepp/network_function.rs"]
mod network_function;
mod proxies;
#[path = "../sepp/request.rs"]
#[allow(dead_code, reason = "the bench of SEPPs sends more of it")]
mod request;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera_bench::numbers::{machine, median};
use tessera_bindings::{Bindings, ClientName, MoveTimes, ProxyName};
use tessera_etcd::{EtcdClient, Transport};
use tessera_test_peers::etcd::Cluster;
use tokio::task::JoinSet;

use self::proxies::{Proxy, Scene};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How many clients are bound.
const BINDINGS: usize = 50_000;

/// The proxies that have them: Tessera's, and Envoy's sidecar.
pub(crate) const PROXIES: [&str; 2] = ["a", "e"];

/// Requests in flight, and over how many connections.
const STREAMS: &str = "10";
const CONNECTIONS: &str = "4";

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (mut program, mut envoy, mut rounds, mut count) = (None, None, 7, 20_000);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or("an option has no value")?;
        match argument.as_str() {
            network_function::ARGUMENT => return network_function::run(Some(value)),
            "--program" => program = Some(value),
            "--envoy" => envoy = Some(value),
            "--rounds" => rounds = value.parse()?,
            "--count" => count = value.parse()?,
            other => return Err(format!("{other} is no option").into()),
        }
    }
    let program = program.ok_or("--program: the path of `tessera`")?;
    let envoy = envoy.ok_or("--envoy: the path of `envoy`")?;
    let (_service, address) = network_function::start()?;
    let etcd = Cluster::start(1)?;
    let scene = Scene::new(program, envoy, address, etcd.endpoints());
    bind(etcd.endpoints())?;
    let proxies = [scene.tessera()?, scene.envoy_that_asks()?, scene.envoy()?, scene.nghttpx()?];
    let cookies = proxies.iter().map(cookie).collect::<Result<Vec<_>, _>>()?;
    for (proxy, cookie) in proxies.iter().zip(&cookies) {
        load(proxy, cookie, 2_000)?;
    }
    let mut costs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..rounds {
        for (proxy, cookie) in proxies.iter().zip(&cookies) {
            let before = proxy.processor_time()?;
            load(proxy, cookie, count)?;
            let used = (proxy.processor_time()? - before).as_secs_f64() * 1e6 / count as f64;
            costs.entry(proxy.name).or_default().push(used);
        }
    }
    println!(
        "{}; {rounds} rounds of {count} requests, {CONNECTIONS} connections of {STREAMS} streams",
        machine()
    );
    println!("{:<28} {:>8} {:>10}   rounds", "proxy", "µs", "of Tessera");
    let ours = median(&costs[proxies[0].name]).unwrap_or(f64::NAN);
    for proxy in &proxies {
        let rounds = &costs[proxy.name];
        let middle = median(rounds).unwrap_or(f64::NAN);
        let (least, most) = (
            rounds.iter().copied().fold(f64::MAX, f64::min),
            rounds.iter().copied().fold(0.0, f64::max),
        );
        println!(
            "{:<28} {middle:>8.1} {:>10.2}   {least:.1} to {most:.1}",
            proxy.name,
            middle / ours
        );
    }
    Ok(())
}

/// Fills the store with bindings, half of them to each of the proxies of the pool.
fn bind(endpoints: Vec<String>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let second = Duration::from_secs(1);
        let store = EtcdClient::new(endpoints, Transport::PlaintextOnPrivateNetwork, 5 * second);
        let times = MoveTimes { dwell: second, prepare: second, announce: second, drain: second };
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let bindings = Bindings::new(Arc::new(store), "/tessera/edge/", times, now);
        let mut under_way = JoinSet::new();
        for number in 0..BINDINGS {
            if under_way.len() == 2 {
                under_way.join_next().await.transpose()?.transpose()?;
            }
            let name = ClientName::new(format!("cookie:{number:064x}"))?;
            let owner = ProxyName(PROXIES[number % 2].to_owned());
            let bindings = bindings.clone();
            under_way.spawn(async move { bindings.bind(&name, &owner).await });
        }
        while let Some(bound) = under_way.join_next().await {
            bound??;
        }
        Ok(())
    })
}

/// Returns a cookie that the proxy sets and binds to itself, as `cookie: NAME=VALUE`; one of its own for a proxy that sets none.
fn cookie(proxy: &Proxy) -> Result<String, Failure> {
    let url = format!("https://localhost:{}/", proxy.port);
    let arguments =
        ["--silent", "--show-error", "--fail", "--insecure", "--http2", "--dump-header", "-", &url];
    let output = Command::new("curl").args(arguments).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(
            format!("{}: {text}{}", proxy.name, String::from_utf8_lossy(&output.stderr)).into()
        );
    }
    let set = text.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let pair = set
        .and_then(|it| it.split(';').next())
        .unwrap_or("tessera-client=00112233445566778899aabbccddeeff");
    Ok(format!("cookie: {pair}"))
}

/// Sends requests; each must be answered with 200.
fn load(proxy: &Proxy, cookie: &str, count: usize) -> Result<(), Failure> {
    let count = count.to_string();
    let url = format!("https://localhost:{}/", proxy.port);
    let arguments = ["-n", &count, "-c", CONNECTIONS, "-m", STREAMS, "-t", "1", "-H", cookie, &url];
    let output = Command::new("h2load").args(arguments).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let all = format!("status codes: {count} 2xx");
    match output.status.success() && text.contains(&all) {
        true => Ok(()),
        false => Err(format!("{}: {text}", proxy.name).into()),
    }
}
