//! The pages that `tessera lab reconnect`, `sites`, `roaming` and `traffic` write with `--report`, as a browser shows them.
#![cfg(feature = "lab")]

use std::fs;
use std::process::Command;

use serde_json::Value;
use tessera_test_peers::Directory;
use tessera_test_peers::chromium::{self, RenderedPage};

/// Opens the page of a file in a window of this width in pixels.
fn show(page: &str, width: u32) -> RenderedPage {
    chromium::show(&format!("file://{page}"), width)
}

/// A report, and its page as rendered by a browser.
struct Report {
    json: Value,
    dom: String,
}

impl Report {
    /// Runs an experiment and opens its page, which must not cause complaints.
    fn of(experiment: &str, arguments: &[&str]) -> Self {
        let directory = Directory::new();
        let (page, json) = (directory.path("report.html"), directory.path("report.json"));
        let output = Command::new(env!("CARGO_BIN_EXE_tessera"))
            .args(["lab", experiment, "--repetitions", "7"])
            .args(arguments)
            .args(["--report", &page, "--json", &json])
            .output()
            .expect("starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let json = serde_json::from_slice(&fs::read(&json).expect("JSON")).expect("JSON");
        let RenderedPage { dom, console } = show(&page, 1280);
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
fn a_browser_shows_every_row_of_the_reconnect_report() {
    let report = Report::of("reconnect", &["--link", "loopback"]);
    assert_eq!(report.rows().len(), 15);
    for row in report.rows() {
        let name = |field: &str| row[field].as_str().unwrap_or("none");
        let way = ["mode", "kx", "ticket_key", "continuation"].map(name).join("/");
        report.has(&format!("data-row=\"{way}@0\""), 1);
        report.has(&format!("data-verdict=\"{way}\""), 1);
        // Latency, engine, bytes, and heap if it is measured.
        report.has(&format!("data-way=\"{way}\""), if cfg!(feature = "heap") { 4 } else { 3 });
    }
    report.is_in_its_page();
}

#[test]
fn a_browser_shows_every_path_of_the_sites_report() {
    // The distance between the sites is that of a link.
    let link = ["--link", "tun", "--rtt", "0", "--site-rtt", "30ms,5ms"];
    let report = Report::of("sites", &[&link[..], &["--with-guessing-site"]].concat());
    assert_eq!(report.rows().len(), 2 * 5);
    for row in report.rows() {
        let path = row["path"].as_str().expect("a path");
        let between = row["site_rtt_ms"].as_f64().expect("a time");
        report.has(&format!("data-row=\"{path}@0/{between}\""), 1);
        report.has(&format!("data-way=\"{path}@0/{between}\""), 1);
        report.has(&format!("data-verdict=\"{path}\""), 1);
    }
    // Asking home cannot be faster than not asking, and the page states that.
    let answer = report.dom.split("data-answer=\"0\">").nth(1).expect("an answer");
    let answer = answer.split("</p>").next().expect("an answer");
    assert!(answer.contains("At none of the distances measured"), "{answer}");
    // 5 ms may be less than the noise of a busy machine; 30 ms are not.
    assert!(answer.contains(", with 5 ms between the sites; and"), "{answer}");
    assert!(answer.contains("ms later, with 30 ms between the sites"), "{answer}");
    // The lines of the chart, and their names at their ends.
    report.has("class=\"line\"", 3);
    report.has("class=\"names\"", 1);
    report.is_in_its_page();
}

#[test]
fn a_browser_shows_every_setting_of_the_traffic_report() {
    let report = Report::of("traffic", &["--link", "tun", "--rtt", "2ms", "--padding", "0,512"]);
    let tables = report.json["confusion"]["tables"].as_array().expect("tables");
    assert_eq!(tables.len(), 2 * 4);
    for table in tables {
        let padding =
            table["padding"].as_u64().map_or("none".to_owned(), |bytes| bytes.to_string());
        let features = table["features"].as_str().expect("features");
        for option in table["options"].as_array().expect("options") {
            let option = option.as_str().expect("a letter");
            report.has(&format!("data-row=\"2/{padding}/{features}/{option}\""), 1);
            report.has(&format!("data-row=\"2/{padding}/cost/{option}\""), 1);
        }
        report.has(&format!("data-way=\"2/{padding}\""), 1);
    }
    report.is_in_its_page();
}

#[test]
fn a_browser_shows_every_cell_of_the_roaming_report() {
    // A cell that needs an emulated link.
    let cells = "through=engine|endpoints,option=b|e,store=memory,suite=0x1301,kx=none,link=none|50ms,\
                 loss=0,congestion=0";
    let arguments = ["--link", "loopback", "--link-repetitions", "3", "--cells", cells];
    let report = Report::of("roaming", &arguments);
    let key = |cell: &Value| {
        let name = |field: &str| cell[field].as_str().unwrap_or("none");
        let fields =
            ["through", "option", "mode", "kx", "ticket_key", "continuation", "store", "suite"];
        let link = cell["link"]["name"].as_str().expect("a link");
        fields.map(name).join("/") + "/" + link
    };
    for cell in report.json["cells"].as_array().expect("cells") {
        report.has(&format!("data-row=\"{}\"", key(cell)), 1);
        report.has(&format!("data-way=\"{}\"", key(cell)), 1);
    }
    let not_run = report.json["not_run"].as_array().expect("cells");
    assert!(!not_run.is_empty());
    for cell in not_run {
        report.has(&format!("data-not-run=\"{}\"", key(cell)), 1);
    }
    report.is_in_its_page();
}

/// No page is ever wider than its room, as a script added by the test measures. A style sets the room, since windows
/// have a minimum width.
#[test]
fn a_report_needs_no_sideways_scrolling_on_a_phone() {
    const MEASURE: &str =
        "<script>document.body.dataset.width = document.body.scrollWidth;</script></body>";
    let directory = Directory::new();
    let sites = ["sites", "--link", "tun", "--rtt", "0", "--site-rtt", "5ms,30ms"];
    let traffic = ["traffic", "--link", "tun", "--rtt", "0", "--padding", "0,16384"];
    let cells = "through=engine,option=b|e,store=memory,kx=none";
    let roaming = ["roaming", "--link", "loopback", "--cells", cells];
    for experiment in [["reconnect", "--link", "loopback"].as_slice(), &sites, &roaming, &traffic] {
        let output = Command::new(env!("CARGO_BIN_EXE_tessera"))
            .arg("lab")
            .args(experiment)
            .args(["--repetitions", "7", "--report", "-"])
            .output()
            .expect("starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let html = String::from_utf8(output.stdout).expect("the page alone, on standard output");
        assert!(html.starts_with("<!DOCTYPE html>"));
        for (window, room) in [(500, 340), (500, 390), (840, 800), (960, 920)] {
            let style = format!("<style>html{{width:{room}px}}</style></head>");
            let narrow = html.replace("</head>", &style).replace("</body>", MEASURE);
            let page = directory.write("report.html", narrow);
            let dom = show(&page, window).dom;
            let width = dom.split("data-width=\"").nth(1).expect("measured");
            let room = room.to_string();
            assert_eq!(width.split('"').next(), Some(room.as_str()), "{experiment:?} of {room}");
        }
    }
}

/// Checks that the browser's console is actually read.
#[test]
fn a_browsers_complaint_about_a_page_is_noticed() {
    let directory = Directory::new();
    let page = directory.write("broken.html", "<!DOCTYPE html><script>absent()</script>");
    let console = show(&page, 1280).console;
    assert!(console.iter().any(|line| line.contains("absent")), "{console:?}");
}
