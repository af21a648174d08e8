//! The task list as the status row needs it: the step in progress and how far it is.
//!
//! Read from the `todo` tool's arguments. They come from a model: anything odd is no plan.

use serde_json::Value;

/// A task list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// What is to be done, and its state: `pending`, `in_progress`, `completed`, …
    pub items: Vec<(String, String)>,
}

impl Plan {
    /// Reads the arguments of a `todo` call; none if they hold no list.
    pub fn read(input: &Value) -> Option<Self> {
        let list = ["todos", "items", "plan", "tasks"]
            .iter()
            .find_map(|key| input.get(*key))
            .unwrap_or(input)
            .as_array()?;
        let items: Vec<(String, String)> = list.iter().filter_map(item).collect();
        (!items.is_empty()).then_some(Self { items })
    }

    /// The step in progress and its number from 1; none if nothing is.
    pub fn current(&self) -> Option<(&str, usize)> {
        let at = self
            .items
            .iter()
            .position(|(_, status)| status == "in_progress")?;
        Some((&self.items[at].0, at + 1))
    }
}

fn item(value: &Value) -> Option<(String, String)> {
    let text = ["content", "text", "step", "title", "task"]
        .iter()
        .find_map(|key| value.get(*key)?.as_str())?;
    let status = value
        .get("status")
        .and_then(Value::as_str)
        .unwrap_or("pending");
    Some((text.to_owned(), status.replace('-', "_")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_step_in_progress_is_found_and_oddities_are_no_plan() {
        let plan = Plan::read(&json!({"todos": [
            {"content": "Find it", "status": "completed"},
            {"content": "Guard reflow", "status": "in_progress"},
        ]}));
        assert_eq!(
            plan.as_ref().and_then(Plan::current),
            Some(("Guard reflow", 2))
        );
        for odd in [
            json!(null),
            json!({"todos": 3}),
            json!({"todos": []}),
            json!([1, 2]),
        ] {
            assert_eq!(Plan::read(&odd), None, "{odd}");
        }
    }
}
