//! The `offhook` binary: settings, tracing, store, services, HTTP and workers put together. No rules live here.

mod cli;
mod data_dir;
mod demo;
mod logging;
mod output;
mod parts;
mod receiver;
mod serve;
mod settings;
mod signals;
mod tls;

use std::process::ExitCode;

use clap::Parser as _;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // `{:#}` puts the causes behind the sentence, on its line.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
