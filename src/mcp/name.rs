//! Names by which models and rules know the tools of servers: `mcp__server__tool`.
//!
//! Pure. Models' providers take letters, digits, `_` and `-`, 64 at most.

/// Longest name that every provider takes.
const LONGEST: usize = 64;
/// Most characters of it that are the server's.
const SERVER: usize = 24;

/// The name of a server's tool. What no provider takes becomes `_`; what is too long is cut and ends with
/// a digest of the whole, so that two long names stay two.
pub(super) fn of_tool(server: &str, tool: &str) -> String {
    let server: String = plain(server).chars().take(SERVER).collect();
    let name = format!("mcp__{server}__{}", plain(tool));
    if name.len() <= LONGEST {
        return name;
    }
    let digest = blake3::hash(tool.as_bytes()).to_hex().to_string();
    let mut cut: String = name.chars().take(LONGEST - 9).collect();
    cut.push('_');
    cut.extend(digest.chars().take(8));
    cut
}

fn plain(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars()
        .map(|c| if fits(c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_only_what_every_provider_takes() {
        assert_eq!(
            of_tool("github", "create_issue"),
            "mcp__github__create_issue"
        );
        assert_eq!(
            of_tool("my server", "weather.get/now"),
            "mcp__my_server__weather_get_now"
        );
        let long = "t".repeat(200);
        for (server, tool) in [("s", long.as_str()), (long.as_str(), "t"), ("日本", "天気")] {
            let name = of_tool(server, tool);
            assert!(name.len() <= LONGEST, "{name}");
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            assert!(name.chars().all(fits), "{name}");
        }
    }

    #[test]
    fn two_long_names_stay_two() {
        let (one, two) = (
            format!("{}a", "t".repeat(90)),
            format!("{}b", "t".repeat(90)),
        );
        assert_ne!(of_tool("s", &one), of_tool("s", &two));
    }
}
