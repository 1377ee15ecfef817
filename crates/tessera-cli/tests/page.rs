//! `tessera lab reconnect --report` and `tessera lab sites --report`, the pages as a browser shows them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A directory of its own for a test, gone with this value.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tessera-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // The browser may still write as it ends; the system cleans up such directories.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a browser made of a page.
struct Shown {
    dom: String,
    /// What the page wrote to the console, complaints of the browser included.
    console: Vec<String>,
}

/// Shows a page in a headless Chromium, as wide as this many pixels.
fn show(directory: &Path, page: &Path, width: u32) -> Shown {
    let profile = directory.join(format!("profile-{width}"));
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--window-size={width},800"))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("this test needs Chromium, which scripts/setup-tests installs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "Chromium failed: {stderr}");
    Shown {
        dom: String::from_utf8(output.stdout).expect("UTF-8"),
        console: stderr.lines().filter(|line| line.contains("CONSOLE")).map(Into::into).collect(),
    }
}

/// A report, and what a browser made of its page.
struct Report {
    json: Value,
    dom: String,
}

impl Report {
    /// Runs an experiment and shows its page, of which nothing complains.
    fn of(experiment: &str, arguments: &[&str]) -> Self {
        let directory = Directory::new(&format!("page-{experiment}"));
        let file = |name: &str| directory.0.join(name);
        let (page, json) = (file("report.html"), file("report.json"));
        let output = Command::new(env!("CARGO_BIN_EXE_tessera"))
            .args(["lab", experiment, "--link", "loopback", "--repetitions", "7"])
            .args(arguments)
            .args(["--report".as_ref(), page.as_os_str(), "--json".as_ref(), json.as_os_str()])
            .output()
            .expect("starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let json = serde_json::from_slice(&fs::read(&json).expect("JSON")).expect("JSON");
        let Shown { dom, console } = show(&directory.0, &page, 1280);
        assert!(console.is_empty(), "{console:?}");
        Self { json, dom }
    }

    fn rows(&self) -> &[Value] {
        self.json["rows"].as_array().expect("rows")
    }

    fn has(&self, mark: &str, count: usize) {
        assert_eq!(self.dom.matches(mark).count(), count, "{mark}");
    }

    /// The page holds the report itself, and its script has run: it shows its button.
    fn is_in_its_page(&self) {
        let embedded = self.dom.split("id=\"report\">").nth(1).expect("the data");
        let embedded = embedded.split("</script>").next().expect("the data");
        assert_eq!(serde_json::from_str::<Value>(embedded).expect("JSON"), self.json);
        self.has("<button id=\"save\" type=\"button\">", 1);
    }
}

#[test]
fn a_browser_shows_every_way() {
    let report = Report::of("reconnect", &[]);
    assert_eq!(report.rows().len(), 15);
    for row in report.rows() {
        let name = |field: &str| row[field].as_str().unwrap_or("none");
        let way = ["mode", "kx", "ticket_key", "continuation"].map(name).join("/");
        report.has(&format!("data-row=\"{way}@0\""), 1);
        report.has(&format!("data-verdict=\"{way}\""), 1);
        // Latency, engine, bytes and heap.
        report.has(&format!("data-way=\"{way}\""), 4);
    }
    report.is_in_its_page();
}

#[test]
fn a_browser_shows_every_path() {
    let report = Report::of("sites", &["--site-rtt", "30ms,5ms", "--with-guessing-site"]);
    assert_eq!(report.rows().len(), 2 * 5);
    for row in report.rows() {
        let path = row["path"].as_str().expect("a path");
        let between = row["site_rtt_ms"].as_f64().expect("a time");
        report.has(&format!("data-row=\"{path}@0/{between}\""), 1);
        report.has(&format!("data-way=\"{path}@0/{between}\""), 1);
        report.has(&format!("data-verdict=\"{path}\""), 1);
    }
    // Whoever asks home cannot be sooner than whoever does not, and the page says so.
    let answer = report.dom.split("data-answer=\"0\">").nth(1).expect("an answer");
    let answer = answer.split("</p>").next().expect("an answer");
    assert!(answer.contains("At none of the distances measured"), "{answer}");
    assert!(answer.contains("ms later, with 5 ms between the sites; and"), "{answer}");
    // The lines of the chart, and their names at their ends.
    report.has("class=\"line\"", 3);
    report.has("class=\"names\"", 1);
    report.is_in_its_page();
}

/// No page is ever wider than its room; found out by a script that the test adds. The room is
/// set by a style, for windows have a smallest width.
#[test]
fn a_phone_needs_no_sideways_scrolling() {
    const MEASURE: &str =
        "<script>document.body.dataset.width = document.body.scrollWidth;</script></body>";
    let directory = Directory::new("phone");
    let page = directory.0.join("report.html");
    for experiment in [["reconnect"].as_slice(), &["sites", "--site-rtt", "5ms,30ms"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_tessera"))
            .arg("lab")
            .args(experiment)
            .args(["--link", "loopback", "--repetitions", "7", "--report", "-"])
            .output()
            .expect("starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let html = String::from_utf8(output.stdout).expect("the page alone, on standard output");
        assert!(html.starts_with("<!DOCTYPE html>"));
        for (window, room) in [(500, 340), (500, 390), (840, 800), (960, 920)] {
            let style = format!("<style>html{{width:{room}px}}</style></head>");
            let narrow = html.replace("</head>", &style).replace("</body>", MEASURE);
            fs::write(&page, narrow).expect("written");
            let dom = show(&directory.0, &page, window).dom;
            let width = dom.split("data-width=\"").nth(1).expect("measured");
            let room = room.to_string();
            assert_eq!(width.split('"').next(), Some(room.as_str()), "{experiment:?} of {room}");
        }
    }
}

/// A console that nobody hears would prove nothing.
#[test]
fn complaints_are_heard() {
    let directory = Directory::new("complaints");
    let page = directory.0.join("broken.html");
    fs::write(&page, "<!DOCTYPE html><script>absent()</script>").expect("written");
    let console = show(&directory.0, &page, 1280).console;
    assert!(console.iter().any(|line| line.contains("absent")), "{console:?}");
}
