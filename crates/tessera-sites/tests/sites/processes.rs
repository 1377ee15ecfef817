//! A home site in another process, which dies: kill -9 in the middle, hangs, restarts.
#![cfg(unix)]

use std::future::pending;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, process, thread};

use crate::common::{
    self, AWAY, Authority, HOME, IsolatedChannel, home_at, impatient, patient, put, server, unix,
};
use tessera::auth::{Credential, PrivateKey};
use tessera::handshake::Reply;
use tessera::resume::{Incarnation, TakeAnswer, TakePurpose, TakeSecret, Vault};
use tessera_aws_lc::{SigningKey, provider};
use tessera_sites::{
    ChannelLimits, KnownSites, ServerLimits, SiteProof, SiteServer, TlsSiteChannel, server_config,
};
use tessera_tokio::Acceptor;
use tessera_vault::contract::handle;
use tessera_vault::{
    Acknowledgement, BurnAtHome, EpochKey, Limits, MemoryVault, SiteChannel, SiteVault,
    WrappingKeys, WrappingPurpose,
};
use tessera_webpki::WebPkiVerifier;
use tokio::net::TcpListener;

/// The directory of the home's files; set in its process only.
const DIR: &str = "TESSERA_SITES_TEST_DIR";
const PORT: &str = "TESSERA_SITES_TEST_PORT";

/// How many secrets a home has from its start; the first one is used.
const SECRETS: u32 = 20_000;

/// The home's process, until its standard input ends.
#[test]
fn home_process() {
    let Ok(dir) = env::var(DIR) else { return };
    let dir = Path::new(&dir);
    thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        process::exit(0);
    });
    let keys = WrappingKeys::new(&provider(), WrappingPurpose::Snapshot);
    keys.add(EpochKey::forever([1; 16], [7; 32].into()), unix()).unwrap();
    let limits = Limits::new(2 * SECRETS as usize);
    let opened = MemoryVault::open(&dir.join("vault"), limits, &provider(), &keys, unix());
    let vault =
        Arc::new(SiteVault::new(Arc::new(opened.unwrap().0), Arc::new(IsolatedChannel)).unwrap());
    let incarnation = vault.incarnation().unwrap();
    // Each incarnation has its own secrets.
    let first = SECRETS * (incarnation.number as u32 % 100);
    (first..first + SECRETS).for_each(|number| put(&*vault, number));
    let question = TakeSecret::new(handle(first), TakePurpose::Accept, Some(unix()));
    assert!(matches!(vault.take(&question), Reply::Now(TakeAnswer::Taken(_))));

    let read = |name: &str| fs::read(dir.join(name)).unwrap();
    let verifier = Arc::new(WebPkiVerifier::new(&[read("root")]).unwrap());
    let known = KnownSites::new(verifier).with("away", SiteProof::DnsName(AWAY.to_owned()));
    let signer = SigningKey::from_pkcs8(&read("key")).unwrap();
    let key = PrivateKey::Signs(Arc::new(signer));
    let identity = Credential::new(vec![read("certificate")], key);
    let config = server_config(server(identity), known).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let port: u16 = env::var(PORT).unwrap().parse().unwrap();
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let name = u128::from_be_bytes(incarnation.vault);
        println!("ready {port} {name} {}", incarnation.number);
        let server = SiteServer::new(vault, ServerLimits::default());
        server.run(listener, Acceptor::new(config), pending()).await;
    });
}

/// The process of a home site, which is killed when this value is dropped.
struct Home {
    child: Child,
    port: u16,
    incarnation: Incarnation,
}

impl Home {
    fn start(dir: &Path, port: u16) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "processes::home_process", "--nocapture"]);
        command.env(DIR, dir).env(PORT, port.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("ready ")?.1.to_owned()))
            .expect("the home begins");
        let mut words = line.split(' ');
        let port = words.next().unwrap().parse().unwrap();
        let vault = words.next().unwrap().parse::<u128>().unwrap().to_be_bytes();
        let number = words.next().unwrap().parse().unwrap();
        Self { child, port, incarnation: Incarnation { vault, number } }
    }

    fn first(&self) -> u32 {
        SECRETS * (self.incarnation.number as u32 % 100)
    }

    fn request(&self, number: u32) -> BurnAtHome {
        BurnAtHome::new(handle(self.first() + number), self.incarnation)
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// kill -STOP. Returns only when every thread has stopped: until then, one may still answer.
    async fn stop(&self) {
        self.signal("-STOP");
        let tasks = format!("/proc/{}/task", self.child.id());
        common::until(|| {
            let mut threads = fs::read_dir(&tasks).unwrap();
            threads.all(|thread| {
                let status = fs::read_to_string(thread.unwrap().path().join("status"));
                // A thread that has ended meanwhile answers nothing.
                status.map_or(true, |it| it.contains("\nState:\tT"))
            })
        })
        .await;
    }

    /// kill -9.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A directory with the home's identity, removed at the end.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str, authority: &Authority) -> Self {
        let dir = env::temp_dir().join(format!("tessera-sites-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let leaf = authority.0.issue(HOME);
        let files =
            [("root", authority.0.der()), ("certificate", leaf.der()), ("key", leaf.key_der())];
        for (name, bytes) in files {
            fs::write(dir.join(name), bytes).unwrap();
        }
        Self(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn channel_to(authority: &Authority, home: &Home, limits: ChannelLimits) -> TlsSiteChannel {
    let connector = common::connector(authority, vec![authority.credential(AWAY)]);
    let mut site = home_at(([127, 0, 0, 1], home.port).into());
    site.vault = home.incarnation.vault;
    TlsSiteChannel::open(&connector, vec![site], limits)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_home_in_another_process_answers_lost_when_it_is_back() {
    let authority = Authority::new();
    let dir = Dir::new("killed", &authority);
    let mut home = Home::start(&dir.0, 0);
    let channel = channel_to(&authority, &home, patient());
    let (used, here, gone) = (home.request(0), home.request(1), home.request(2));
    let never = home.request(SECRETS + 1);
    assert_eq!(channel.burn_at_home(&used).await, Some(Acknowledgement::Used));
    assert_eq!(channel.burn_at_home(&here).await, Some(Acknowledgement::Burned));
    assert_eq!(channel.burn_at_home(&never).await, Some(Acknowledgement::Unknown));

    home.kill();
    let asked = channel.burn_at_home(&gone);
    let home = Home::start(&dir.0, home.port);
    let answer = asked.await;
    assert!(matches!(answer, Some(Acknowledgement::Lost { .. })), "{answer:?}");
    let answer = channel.burn_at_home(&home.request(1)).await;
    assert_eq!(answer, Some(Acknowledgement::Burned));
    let counts = channel.counts();
    assert_eq!((counts.connections, counts.answered), (2, 5), "{counts:?}");
}

/// The home site dies with ten thousand requests in progress. Each gets an answer from its first incarnation or its
/// second; none gets a wrong one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_home_is_killed_with_ten_thousand_requests_under_way() {
    let authority = Authority::new();
    let dir = Dir::new("middle", &authority);
    let mut home = Home::start(&dir.0, 0);
    let channel = Arc::new(channel_to(&authority, &home, patient()));
    assert_eq!(channel.burn_at_home(&home.request(1)).await, Some(Acknowledgement::Burned));
    let asked = (2..10_002).map(|number| tokio::spawn(channel.burn_at_home(&home.request(number))));
    let asked: Vec<_> = asked.collect();
    common::until(|| channel.counts().answered > 100).await;
    home.kill();
    let _home = Home::start(&dir.0, home.port);
    let (mut burned, mut lost) = (0, 0);
    for answer in asked {
        match answer.await.unwrap() {
            Some(Acknowledgement::Burned) => burned += 1,
            Some(Acknowledgement::Lost { .. }) => lost += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(burned + lost == 10_000 && burned > 0, "{burned} burned, {lost} lost");
}

#[tokio::test]
async fn a_stopped_home_is_given_up_and_answers_again_when_it_continues() {
    let authority = Authority::new();
    let dir = Dir::new("stopped", &authority);
    let home = Home::start(&dir.0, 0);
    let mut limits = impatient();
    limits.connect = Duration::from_millis(300);
    let channel = channel_to(&authority, &home, limits);
    let mut answer = None;
    while answer.is_none() {
        answer = channel.burn_at_home(&home.request(1)).await;
    }
    home.stop().await;
    assert_eq!(channel.burn_at_home(&home.request(2)).await, None);
    home.signal("-CONT");
    let mut answer = None;
    while answer.is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
        answer = channel.burn_at_home(&home.request(2)).await;
    }
    assert_eq!(answer, Some(Acknowledgement::Burned));
}
