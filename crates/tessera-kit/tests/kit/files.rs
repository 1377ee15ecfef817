//! Files named by settings: what is refused in place of a regular file, and when.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tessera_kit::{KeySource, ProgramError, SettingFile, files, key_file, pem, psk};

/// A directory of one test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("files-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

fn setting(path: &Path) -> SettingFile<'_> {
    SettingFile { setting: "a.setting", path }
}

type Reader = fn(&Path) -> Result<(), ProgramError>;

/// The functions that read a configuration's files.
const READERS: [Reader; 8] = [
    |path| pem::certificates(setting(path)).map(|_| ()),
    |path| pem::private_key(setting(path)).map(|_| ()),
    |path| pem::public_keys(setting(path)).map(|_| ()),
    |path| pem::revocation_lists(setting(path)).map(|_| ()),
    |path| psk::read(setting(path)).map(|_| ()),
    |path| key_file::read(setting(path), "things", Path::new("/proc")).map(|_| ()),
    |path| KeySource::File(path.into()).read("a.setting", "things", Path::new("/proc")).map(|_| ()),
    |path| files::read_text(setting(path), 100).map(|_| ()),
];

#[test]
fn a_pipe_or_a_device_in_place_of_a_file_is_refused_at_once() {
    let directory = Directory::new("pipe");
    let (pipe, link) = (directory.path("pipe"), directory.path("link"));
    mkfifo(&pipe, Mode::S_IRUSR).unwrap();
    symlink(&pipe, &link).unwrap();
    let (done, all_done) = mpsc::channel();
    thread::spawn(move || {
        for read in READERS {
            for path in [&pipe, &link, Path::new("/dev/zero")] {
                let why = read(path).unwrap_err().to_string();
                let expected = "this is a pipe, a device or a socket, and a regular file is needed; \
                                check the path after a.setting";
                assert_eq!(why, format!("{}: {expected}", path.display()));
            }
        }
        done.send(()).unwrap();
    });
    all_done.recv_timeout(Duration::from_secs(60)).expect("opening a pipe waits for no writer");
}

#[test]
fn files_are_read_through_links_and_up_to_their_bound() {
    let directory = Directory::new("bound");
    let (file, link) = (directory.path("file"), directory.path("link"));
    symlink(&file, &link).unwrap();
    for len in [0, 1, 99, 100] {
        fs::write(&file, vec![b'x'; len]).unwrap();
        assert_eq!(files::read(setting(&link), 100).unwrap().len(), len);
    }
    fs::write(&file, vec![b'x'; 101]).unwrap();
    let why = files::read(setting(&file), 100).unwrap_err().to_string();
    assert!(why.contains("too long: at most 100 bytes are allowed"), "{why}");
    fs::write(&file, [0xff]).unwrap();
    let why = files::read_text(setting(&file), 100).unwrap_err().to_string();
    assert!(why.contains("not UTF-8"), "{why}");
    // The kernel reports a length of 0 for such a file.
    let unknown = Path::new("/proc/self/maps");
    assert!(files::read(setting(unknown), 1 << 20).unwrap().len() > 100);
    assert!(files::read(setting(unknown), 100).is_err());
    let why = files::read(setting(&directory.0), 100).unwrap_err().to_string();
    assert!(why.contains("this is a directory"), "{why}");
}

#[test]
fn under_a_deadline_files_are_read_all_the_same() {
    let directory = Directory::new("deadline");
    let file = directory.path("file");
    fs::write(&file, "text").unwrap();
    files::within(Duration::from_secs(60), || {
        assert_eq!(*files::read_text(setting(&file), 100).unwrap(), "text");
        let missing = directory.path("missing");
        let why = files::read(setting(&missing), 100).unwrap_err().to_string();
        assert!(why.contains("there is no such file"), "{why}");
    });
}
