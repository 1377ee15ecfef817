//! Two roaming operators, a third one who knows the first, and an adversary between them.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::Method;
use tessera_pki::Authority;
use tessera_proxy::demo::{self, OperatorIdentity};
use tessera_test_peers::{Directory, between::RecordingForwarder, wait_until};

use crate::{Consumer, Function, HOME, Places, Reply, Sepp, THIRD, VISITED, request};

/// 32 bytes, as `openssl rand -hex 32` writes them.
/// The key of states and of rings.
pub const KEY: &str = "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184";

/// A test's deviations from the usual configuration.
#[derive(Clone, Copy)]
pub struct Words<'w> {
    /// How many instances the home network has.
    pub instances: usize,
    /// Further sections of the home network's SEPP.
    pub home: &'w str,
    /// Further sections of the visited network's.
    pub visited: &'w str,
    /// Further lines of the visited network's about the home network.
    pub visited_peer: &'w str,
    /// Whether tickets and one-time keys of the home network survive its SEPP.
    pub keeps: bool,
    /// The etcd through which its instances share tickets and one-time keys.
    pub etcd: &'w [String],
    /// Whether the visited network knows the second instance's N32-f too, without the adversary between them.
    pub knows_second: bool,
}

impl Default for Words<'_> {
    fn default() -> Self {
        Self {
            instances: 1,
            home: "",
            visited: "",
            visited_peer: "",
            keeps: false,
            etcd: &[],
            knows_second: false,
        }
    }
}

impl Words<'static> {
    /// Both ends allow early GET.
    pub const EARLY: Self = Self {
        instances: 1,
        home: "[peer.visited.reconnection]\nearly-data = \"fs\"\n",
        visited: "[peer.home.reconnection]\nearly-data = \"fs\"\n",
        visited_peer: "",
        keeps: false,
        etcd: &[],
        knows_second: false,
    };
}

/// Two roaming operators.
pub struct World {
    /// The home network's SEPP, all instances.
    pub home: Vec<Sepp>,
    /// The visited network's SEPP.
    pub visited: Sepp,
    /// The home network's function.
    pub udm: Function,
    /// The visited network's function.
    pub amf: Consumer,
    /// The adversary between the visited network and the home network's N32-f.
    pub between: RecordingForwarder,
    /// The home network's authority.
    pub home_ca: Authority,
    /// The visited network's.
    pub visited_ca: Authority,
    /// The third operator's.
    pub third_ca: Authority,
    /// Files for foreign programs.
    pub files: Directory,
    number: AtomicUsize,
}

impl World {
    /// Starts both, and associates them.
    #[track_caller]
    pub fn start(program: &'static str, words: Words<'_>) -> Self {
        let mut world = Self::new(program, words);
        world.home.iter_mut().for_each(Sepp::start);
        world.visited.start();
        world.associated();
        world
    }

    /// Creates both, with their files. Only the functions run.
    #[track_caller]
    pub fn new(program: &'static str, words: Words<'_>) -> Self {
        let [home_ca, visited_ca, third_ca] = ["home", "visited", "third"].map(Authority::new);
        let udm = Function::start();
        let place = |index: u8| IpAddr::from(Ipv4Addr::new(127, 0, 0, 1 + index));
        let first = Places::on(place(0));
        let home: Vec<Sepp> = (0..words.instances)
            .map(|index| Sepp::new(program, first.moved_to(place(index as u8))))
            .collect();
        let visited = Sepp::new(program, Places::on(place(0)));
        let between = RecordingForwarder::start(first.n32f);
        let files = Directory::new();
        let home_leaf = home_ca.issue(HOME).both_pem();
        for (sepp, leaf) in home.iter().map(|sepp| (sepp, home_leaf.clone())) {
            write_files(sepp, &leaf, [&home_ca, &visited_ca, &third_ca]);
        }
        let leaf = visited_ca.issue_numbered(VISITED, 7).both_pem();
        write_files(&visited, &leaf, [&home_ca, &visited_ca, &third_ca]);
        for (name, text) in [
            ("home.pem", home_leaf),
            ("visited.pem", leaf),
            ("third.pem", third_ca.issue(THIRD).both_pem()),
            ("home-ca.pem", home_ca.pem()),
        ] {
            files.write(name, text);
        }
        let amf = Consumer::at(visited.places.sbi);
        let number = AtomicUsize::new(0);
        let world =
            Self { home, visited, udm, amf, between, home_ca, visited_ca, third_ca, files, number };
        world.configure(words);
        world
    }

    /// Writes both configurations.
    pub fn configure(&self, words: Words<'_>) {
        let state = "[tickets]\nstate = \"state\"\nstate-key = \"state.key\"\n".to_owned();
        let keeps = match (words.keeps, words.etcd) {
            (true, _) => state,
            (false, []) => String::new(),
            (false, endpoints) => format!(
                "[tickets.fleet]\nvault = \"etcd\"\nring-key = \"state.key\"\n\
                 epoch-keys = \"epochs\"\n\
                 etcd = {{ endpoints = {endpoints:?}, plaintext-on-private-network = true }}\n"
            ),
        };
        for sepp in &self.home {
            let visited = [self.visited.places.n32c.to_string()];
            let nowhere = ["127.0.0.1:1".to_owned()];
            let sections = [
                "[sbi.hosts]\n",
                &format!("\"udm.5gc.mnc070.mcc999.3gppnetwork.org\" = \"{}\"\n", self.udm.address),
                &trust(demo::VISITED),
                &trust(demo::THIRD),
                &peer(demo::VISITED, &visited, ""),
                &peer(demo::THIRD, &nowhere, "initiate = false\n"),
                words.home,
                &keeps,
            ];
            sepp.configure(demo::HOME, &sections.concat());
        }
        let n32c: Vec<_> = self.home.iter().map(|sepp| sepp.places.n32c.to_string()).collect();
        let mut n32f = vec![self.between.address().to_string()];
        if words.knows_second {
            n32f.extend(self.home.get(1).map(|sepp| sepp.places.n32f.to_string()));
        }
        let n32f = format!("n32f-address = {n32f:?}\n{}", words.visited_peer);
        let sections =
            [&trust(demo::HOME), &peer(demo::HOME, &n32c, &n32f), words.visited].concat();
        self.visited.configure(demo::VISITED, &sections);
    }

    /// Waits until all know each other.
    #[track_caller]
    pub fn associated(&self) {
        self.visited.becomes(HOME, "established");
        self.home.iter().for_each(|sepp| sepp.becomes(VISITED, "established"));
    }

    /// Returns the first, or only, instance of the home network.
    pub fn home(&self) -> &Sepp {
        &self.home[0]
    }

    /// Returns a name for a request that no other has.
    pub fn name(&self) -> String {
        format!("request-{}", self.number.fetch_add(1, Ordering::Relaxed))
    }

    /// Asks the home network's function; returns the name of the request, and the answer.
    #[track_caller]
    pub fn ask(&self, method: Method, end: &str) -> (String, Reply) {
        let name = self.name();
        let has_body = method == Method::POST || method == Method::PUT;
        let mut asked = request(method, &path(end), &name);
        if has_body {
            asked = asked.header("content-type", "application/json");
        }
        let body = Bytes::from_static(if has_body { b"{}" } else { b"" });
        let reply = self.amf.ask(asked.body(body).unwrap());
        (name, reply)
    }

    /// Asks with GET, and expects the answer of the function; returns the name of the request.
    #[track_caller]
    pub fn get(&self) -> String {
        let (name, reply) = self.ask(Method::GET, "am-data");
        assert_eq!(reply.status, 200, "{name}: {reply:?}\n{}", self.output());
        assert_eq!(reply.body, Function::AM_DATA);
        name
    }

    /// Asks with GET until the function answers.
    #[track_caller]
    pub fn served(&self) {
        wait_until("the service goes on", || {
            let asked = request(Method::GET, &path("am-data"), &self.name());
            let reply = self.amf.try_ask(asked.body(Bytes::new()).unwrap());
            reply.is_ok_and(|reply| reply.status == 200).then_some(())
        });
    }

    /// Ends the connections of N32-f, so that the next request needs another one.
    #[track_caller]
    pub fn cut(&self) {
        self.between.cut_until_left();
    }

    /// Asks over a resumed connection, whose tickets arrive too; returns the name of the request.
    #[track_caller]
    pub fn get_over_new_connection(&self) -> String {
        self.cut();
        let name = self.get();
        self.get();
        name
    }

    /// Returns the output of the SEPPs.
    pub fn output(&self) -> String {
        let home: String = self.home.iter().map(|sepp| sepp.process().output()).collect();
        format!("home:\n{home}\nvisited:\n{}", self.visited.process().output())
    }

    /// Runs `curl` with this certificate against a listener of the home network's SEPP; returns the body, followed by a
    /// line with the status. Empty if TLS failed.
    #[track_caller]
    pub fn curl_as(&self, certificate: &str, port: u16, more: &[&str], path: &str) -> String {
        let resolve = format!("{HOME}:{port}:127.0.0.1");
        let url = format!("https://{HOME}:{port}{path}");
        let [certificate, ca] = [certificate, "home-ca.pem"].map(|name| self.files.path(name));
        let words = [
            "--silent",
            "--http2",
            "--tlsv1.3",
            "--max-time",
            "20",
            "--write-out",
            "\n%{http_code}",
            "--resolve",
            &resolve,
            "--cacert",
            &ca,
            "--cert",
            &certificate,
        ];
        let words = [&words, more, &[&url]].concat();
        let network = tessera_test_peers::Network::Loopback;
        let mut curl = tessera_test_peers::Process::start("curl", network, words);
        curl.end_input().ends_within(2 * tessera_test_peers::PATIENCE);
        curl.stdout()
    }
}

/// Returns the path of a request whose last segment is this.
pub(crate) fn path(end: &str) -> String {
    format!("/nudm-sdm/v2/imsi-999700000000001/{end}")
}

fn write_files(sepp: &Sepp, leaf: &str, authorities: [&Authority; 3]) {
    sepp.directory.write("sepp.pem", leaf);
    sepp.directory.write_private("state.key", KEY);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    sepp.directory.write_private("epochs", format!("{} 172800 {KEY}\n", now - 60));
    for (name, authority) in ["home", "visited", "third"].into_iter().zip(authorities) {
        sepp.directory.write(&format!("{name}.pem"), authority.pem());
        sepp.directory.write(&format!("{name}.crl"), authority.revoking(&[]));
    }
}

fn trust(operator: OperatorIdentity) -> String {
    let name = operator.name;
    format!("{}crl = [\"{name}.crl\"]\n", operator.trust(format_args!("{name}.pem")))
}

fn peer(operator: OperatorIdentity, addresses: &[String], more: &str) -> String {
    format!("{}address = {addresses:?}\n{more}", operator.peer())
}
