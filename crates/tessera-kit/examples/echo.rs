//! A server that echoes what it receives: from PEM files to the first byte.
//!
//! ```text
//! cargo run -p tessera-kit --example echo -- chain.pem key.pem 127.0.0.1:4433
//! ```
//!
//! `SSLKEYLOGFILE` names a file for the secrets of its connections.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use tessera::ServerConfig;
use tessera_kit::facts::{ConnectionFacts, SocketFacts};
use tessera_kit::key_log::KeyLogFile;
use tessera_kit::report::Report;
use tessera_kit::{ProgramError, SettingFile, credential, open_files, runtime, signals};
use tessera_tokio::Acceptor;
use tokio::net::{TcpListener, TcpStream};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [chain, key, address] = arguments.as_slice() else {
        eprintln!("usage: echo CHAIN.pem KEY.pem ADDRESS:PORT");
        return ExitCode::from(2);
    };
    match runtime::run(serve(Path::new(chain), Path::new(key), address)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

async fn serve(chain: &Path, key: &Path, address: &str) -> Result<(), ProgramError> {
    let credential = credential::load(
        SettingFile { setting: "CHAIN.pem", path: chain },
        SettingFile { setting: "KEY.pem", path: key },
    )?;
    let mut config = ServerConfig::new(tessera_aws_lc::provider(), vec![credential]);
    if let Some(path) = std::env::var_os("SSLKEYLOGFILE") {
        let file = SettingFile { setting: "SSLKEYLOGFILE", path: Path::new(&path) };
        config.key_log = Some(Arc::new(KeyLogFile::open(file)?));
    }
    let acceptor = Acceptor::new(config.checked()?);
    let report = Arc::new(Report::of_server(None, false)?);
    open_files::raise();
    let asked = signals::asked_to_end()?;
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|error| ProgramError::failed(address, error))?;
    let accept = async {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, report) = (acceptor.clone(), report.clone());
            tokio::spawn(async move { answer(&acceptor, socket, &report).await });
        }
    };
    tokio::select! {
        () = accept => (),
        () = asked => (),
    }
    report.finish()
}

/// Serves a client to its end, and reports about it.
async fn answer(acceptor: &Acceptor, socket: TcpStream, report: &Report) {
    let (address, started) = (socket.peer_addr().ok(), Instant::now());
    let mut stream = match acceptor.start(socket) {
        Ok(stream) => stream,
        Err(error) => return report.line(&error),
    };
    let handshake = stream.handshake().await.map(|()| started.elapsed());
    let (mut reader, mut writer) = tokio::io::split(&mut stream);
    let copied = tokio::io::copy(&mut reader, &mut writer).await;
    let socket = SocketFacts {
        address,
        handshake: handshake.ok(),
        total: started.elapsed(),
        error: copied.err().map(|error| error.to_string()),
        ..SocketFacts::default()
    };
    report.print(&ConnectionFacts::new(stream.facts(), socket));
}
