//! Builds `assets/models.json` from collected facts about models:
//! `cargo run --example build-models -- FACTS.json 2026-11-21`.
//!
//! The date decides which models count as withdrawn. Run it when the facts change; review the diff.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(facts), Some(today)) = (arguments.next(), arguments.next()) else {
        return Err("usage: build-models FACTS.json YYYY-MM-DD".into());
    };
    let facts = std::fs::read_to_string(facts)?;
    let text = dunlin::model::catalog::build::build(&facts, &today)?;
    std::fs::write("assets/models.json", text)?;
    Ok(())
}
