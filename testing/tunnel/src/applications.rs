//! Real programs that communicate through tunnels.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};

use tessera_test_peers::postgres::{Postgres, pgbench, psql};
use tessera_test_peers::{Directory, Process, http, mosquitto, redis};

use crate::serving::serve;

/// The backends, running.
pub struct Applications {
    postgres: Postgres,
    redis: (Process, SocketAddr),
    mosquitto: (Process, SocketAddr),
    smtp: SocketAddr,
    http: SocketAddr,
    files: Directory,
}

impl Applications {
    /// Starts all backends.
    #[track_caller]
    pub fn start() -> Self {
        let started = Self {
            postgres: Postgres::start(),
            redis: redis::server(),
            mosquitto: mosquitto::broker(),
            smtp: serve(greet),
            http: serve(echo),
            files: Directory::new(),
        };
        psql(started.postgres.address(), "CREATE TABLE done (round int)");
        started
    }

    /// Returns where the backends listen, in the order that [`exercise`](Self::exercise) expects.
    pub fn backends(&self) -> [SocketAddr; 5] {
        [self.postgres.address(), self.redis.1, self.mosquitto.1, self.smtp, self.http]
    }

    /// Runs every program with its backend through these addresses, and checks the results.
    #[track_caller]
    pub fn exercise(&self, addresses: &[SocketAddr]) {
        let [postgres, redis, mosquitto, smtp, http] = addresses else {
            panic!("an address for each backend")
        };
        self.ask_postgres(*postgres);
        count_in_redis(*redis);
        self.publish(*mosquitto);
        self.send_mail(*smtp);
        self.post(*http);
    }

    fn ask_postgres(&self, address: SocketAddr) {
        assert_eq!(psql(address, "SELECT 6 * 7"), "42\n");
        // Two million bytes to the client, and many records back.
        let row = "SELECT repeat(md5(i::text), 1000) FROM generate_series(1, 64) i";
        let text = psql(address, row);
        assert_eq!(text.lines().map(str::len).collect::<Vec<_>>(), [32_000; 64]);
        // Each transaction is a connection, and counts once.
        let round = next();
        let script = self.files.write("transaction.sql", "INSERT INTO done VALUES (:round);");
        let round_option = format!("round={round}");
        let report = pgbench(address, &["-c", "4", "-t", "10", "-f", &script, "-D", &round_option]);
        assert!(report.contains("transactions actually processed: 40/40"), "{report}");
        let done = format!("SELECT count(*) FROM done WHERE round = {round}");
        assert_eq!(psql(self.postgres.address(), &done), "40\n");
    }

    fn publish(&self, address: SocketAddr) {
        let round = next();
        let (topic, name) = (format!("topic/{round}"), format!("subscriber-{round}."));
        let mut subscriber = mosquitto::subscriber(&self.mosquitto.0, &name, address, &topic, 2);
        for message in ["the first", "the second"] {
            mosquitto::publish(address, &topic, message);
        }
        assert!(subscriber.ends(), "{}", subscriber.output());
        assert_eq!(subscriber.stdout(), "the first\nthe second\n");
    }

    fn send_mail(&self, address: SocketAddr) {
        let letter =
            self.files.write("letter", "Subject: tunnel\r\n\r\nThe server speaks first.\r\n");
        let url = format!("smtp://{address}/client.example");
        let people = ["--mail-from", "a@client.example", "--mail-rcpt", "b@server.example"];
        http::curl(&[&[&url, "-v", "--upload-file", &letter][..], &people].concat());
    }

    fn post(&self, address: SocketAddr) {
        let url = format!("http://{address}/");
        assert_eq!(http::curl(&["--data-binary", "a short one", &url]), "a short one");
        let long: String = (0..300_000).map(|number| format!("{number}\n")).collect();
        let file = self.files.write("long", &long);
        let answer = http::curl(&["-H", "Expect:", "--data-binary", &format!("@{file}"), &url]);
        assert!(answer == long, "{} bytes of {} came back", answer.len(), long.len());
    }
}

/// Returns a number that no other round of this process has.
fn next() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn count_in_redis(address: SocketAddr) {
    let key = format!("count-{}", next());
    for expected in 1..=5 {
        // Each is a connection.
        assert_eq!(redis::cli(address, &["INCR", &key]), expected.to_string());
    }
}

/// SMTP (RFC 5321), as far as one mail needs it: the server speaks first.
fn greet(mut stream: TcpStream) -> io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    stream.write_all(b"220 server.example ESMTP\r\n")?;
    while let Some(line) = lines.next().transpose()? {
        let answer = match line.get(..4).unwrap_or_default() {
            "EHLO" | "MAIL" | "RCPT" => "250 server.example\r\n",
            "DATA" => {
                stream.write_all(b"354 go on\r\n")?;
                while lines.next().transpose()?.is_some_and(|line| line != ".") {}
                "250 taken\r\n"
            }
            "QUIT" => {
                stream.write_all(b"221 bye\r\n")?;
                return stream.shutdown(Shutdown::Write);
            }
            _ => "502 what?\r\n",
        };
        stream.write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// Answers one HTTP request with its own body.
fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")?;
    stream.write_all(&body)?;
    stream.shutdown(Shutdown::Write)
}
