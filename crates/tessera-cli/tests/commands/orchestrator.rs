//! `tessera orchestrator`: its files, its exit codes, and requests to a running one.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::program::{P256, Pki, run, signal, stderr, tessera};

/// A running orchestrator without proxies.
struct Running {
    child: Child,
    address: String,
    pki: Pki,
}

impl Running {
    fn start() -> Self {
        let pki = Pki::new(P256);
        for name in ["orchestrator", "ops", "reader"] {
            pki.issue(name, &format!("subjectAltName=DNS:{name}.example"), P256);
        }
        let file = pki.path("o.toml");
        std::fs::write(&file, configuration("ops.example")).unwrap();
        let mut command = tessera();
        command.args(["orchestrator", "run", &file]).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().unwrap().unwrap();
            if let Some((_, rest)) = line.split_once("\"address\":\"") {
                break rest.split('"').next().unwrap().to_owned();
            }
        };
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { child, address, pki }
    }

    fn call(&self, operator: &str, command: &[&str]) -> (Option<i32>, String) {
        let path = |name: &str| self.pki.path(name);
        let mut program = tessera();
        program.arg("orchestrator").args(command);
        program.args(["--server", &self.address, "--server-name", "orchestrator.example"]);
        program.args([
            "--ca",
            &path("root.pem"),
            "--certificate",
            &path(&format!("{operator}.pem")),
        ]);
        program.args(["--key", &path(&format!("{operator}.key"))]);
        let output = run(&mut program, "");
        let text = String::from_utf8(output.stdout.clone()).unwrap() + &stderr(&output);
        (output.status.code(), text)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(operators: &str) -> String {
    format!(
        "[pool]\nfile = \"pool/store\"\n[api]\nlisten = \"127.0.0.1:0\"\ncertificate = \"orchestrator.pem\"\nkey = \
         \"orchestrator.key\"\nca = \"root.pem\"\noperators = [\"{operators}\"]\n"
    )
}

#[test]
fn the_commands_reach_a_running_orchestrator_and_report_refusals() {
    let mut running = Running::start();
    for (operator, command, code, text) in [
        ("ops", &["status"][..], 0, "0 clients, 0 of them moving"),
        ("ops", &["status", "--json"], 0, "\"is_current\":true"),
        ("ops", &["status", "--clients"], 0, ""),
        ("ops", &["status", "drone", "--clients"], 2, "cannot be used with"),
        ("ops", &["status", "drone"], 1, "the client has no binding yet"),
        ("ops", &["move", "drone", "b"], 1, "b isn't live"),
        ("ops", &["move", "drone", "auto", "--queue", "--wait", "switched"], 1, "has no binding"),
        ("ops", &["abort", "drone"], 1, "the client has no binding yet"),
        ("ops", &["drain", "a"], 1, "a isn't live"),
        ("ops", &["drain", "a", "--undo"], 0, "proxy a takes clients again"),
        ("ops", &["evacuate", "north"], 1, "no live proxy is at the site north"),
        ("ops", &["evacuate", "north", "--undo"], 0, "site north takes clients again"),
        ("reader", &["status"], 0, "0 clients"),
        ("reader", &["move", "drone", "b"], 1, "may only read"),
        ("missing", &["status"], 2, "there is no such file"),
    ] {
        let (ended, output) = running.call(operator, command);
        assert_eq!(ended, Some(code), "{operator} {command:?}: {output}");
        assert!(output.contains(text), "{operator} {command:?}: {output}");
    }
    signal(&running.child, "-TERM");
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
    assert_eq!(running.call("ops", &["status"]).0, Some(1), "it has ended");
}

#[test]
fn a_file_is_checked_and_its_error_names_the_line() {
    let pki = Pki::new(P256);
    pki.issue("orchestrator", "subjectAltName=DNS:orchestrator.example", P256);
    let file = pki.path("o.toml");
    std::fs::write(&file, configuration("ops.example")).unwrap();
    let check = || run(tessera().args(["orchestrator", "check", &file]), "");
    let output = check();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(text.contains("no proxy can reach this store"), "{text}");
    std::fs::write(&file, configuration("ops.example").replace("[api]", "ma = \"61s\"\n[api]"))
        .unwrap();
    let output = check();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("o.toml:3: [pool] ma: at most 60s"), "{}", stderr(&output));
}
