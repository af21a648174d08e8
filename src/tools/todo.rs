//! `todo`: the plan the user sees.
//!
//! The list lives in the call itself: the newest completed `todo` part of a session is its plan, so it
//! survives resume, rewind and compaction without a store of its own.

use std::fmt::Write as _;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::arguments::Form;
use super::{Access, Failure, Success, Tool, ToolContext};

/// Where an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    #[serde(alias = "todo", alias = "open")]
    Pending,
    #[serde(alias = "in-progress", alias = "active", alias = "doing")]
    InProgress,
    #[serde(alias = "done", alias = "complete")]
    Completed,
    #[serde(alias = "canceled", alias = "dropped")]
    Cancelled,
}

/// One item of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoItem {
    /// What is to be done, one short sentence.
    #[serde(alias = "title", alias = "task", alias = "text")]
    pub content: String,
    /// Where it stands.
    pub status: TodoStatus,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The whole list, in order; it replaces the one before.
    todos: Vec<TodoItem>,
}

/// `todo`.
#[derive(Debug)]
pub struct Todo {
    form: Form,
}

impl Todo {
    /// The tool.
    pub fn new() -> Self {
        let aliases = &[("items", "todos"), ("list", "todos"), ("plan", "todos")];
        Self {
            form: Form::of::<Input>("todo", aliases),
        }
    }
}

impl Default for Todo {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Todo {
    fn name(&self) -> &'static str {
        "todo"
    }

    fn description(&self) -> String {
        "Writes down the plan for work of three steps or more, and keeps it up to date; the user sees \
         it. Each call gives the whole list. Exactly one item is in_progress while you work; mark it \
         completed as soon as it is done, and never before.\n\
         Example: {\"todos\": [{\"content\": \"Find the failing test\", \"status\": \"completed\"}, \
         {\"content\": \"Fix the parser\", \"status\": \"in_progress\"}, {\"content\": \"Run all \
         tests\", \"status\": \"pending\"}]}"
            .to_owned()
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, _context: &ToolContext) -> Result<Access, String> {
        let input: Input = self.form.read(input)?;
        Ok(Access::reading(title(&input.todos), Vec::new()))
    }

    fn run(
        &self,
        input: Value,
        _context: ToolContext,
    ) -> BoxFuture<'static, Result<Success, Failure>> {
        let input = self.form.read::<Input>(&input);
        Box::pin(async move { Ok(plan(&input?.todos)?) })
    }
}

fn title(todos: &[TodoItem]) -> String {
    let done = todos
        .iter()
        .filter(|item| item.status == TodoStatus::Completed)
        .count();
    format!("{done} of {} done", todos.len())
}

fn plan(todos: &[TodoItem]) -> Result<Success, String> {
    if let Some(index) = todos.iter().position(|item| item.content.trim().is_empty()) {
        return Err(format!(
            "Item {} of `todos` has no content; say what is to be done.",
            index + 1
        ));
    }
    let active = todos
        .iter()
        .filter(|item| item.status == TodoStatus::InProgress)
        .count();
    if active > 1 {
        return Err(format!(
            "{active} items are in_progress, but only one may be: finish one thing before the next. Send \
             the list again with one of them in_progress."
        ));
    }
    let mut output = String::from("The plan is now:\n");
    for item in todos {
        let sign = match item.status {
            TodoStatus::Pending => "[ ]",
            TodoStatus::InProgress => "[>]",
            TodoStatus::Completed => "[x]",
            TodoStatus::Cancelled => "[-]",
        };
        _ = writeln!(output, "{sign} {}", item.content.trim());
    }
    Ok(Success {
        output,
        title: title(todos),
        metadata: json!({"todos": todos}),
        ..Success::default()
    })
}
