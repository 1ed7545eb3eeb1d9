"""What happened: events, their surface, and the fold. Pure: values in, values out.

To follow the fold, read in this order:

1. ``events``: what is appended (a draft) and what it becomes (an event: its bytes are its truth).
2. ``log``: the door. ``commit``: the way of one event: a live draft through every gate, a stored event
   through the structural ones, then into the state.
3. ``state``: all that is folded. ``surface``: the visible nodes in their order; with it ``moves`` (where
   replacements stand), ``hidden`` (what hides took), ``calls`` (calls without a result), ``names``.
4. ``steps``: what each word does to the state; ``message_steps``: messages, calls and operations;
   ``message_projection_step``: the content-only changes of extensions, whose handlers stand in
   ``message_projections`` (``image_offload`` is the engine's own).
5. ``fold``: what may be asked of the state. ``project``: from a node to its message (``projection`` has
   the shapes); ``request``: from the visible messages to those of a model request.

Beside that way:

- gates, each a refusal by rule: ``live_gate``, ``replace_gate``, ``hide_gate`` (with ``pairs``),
  ``content_gate``, ``envelope_gate``; for logs from elsewhere ``admission``, ``flood``, ``enclosure``
- words: ``core_words``, ``vocabulary``, ``roles``, ``sources``; typed views of their data:
  ``payload_views``, ``payloads``, ``state_payloads``
- bytes: ``codec`` (strict JSON), ``wire`` (an event as a line), ``foreign`` (text that has to be mended);
  measures ``json_text``, ``numbers``, ``plain``, ``json_equality``; sizes ``budget``, ``event_budget``
- what stands outside the log: ``blobs`` (named by digest), ``overflow`` (outputs that no event holds)
- ends and beginnings: ``recovery`` and ``recovery_dsh`` (what closes a log), ``fork``, ``seeds``,
  ``slicing``, ``history``
- requests: ``request_header``, ``request_context``, ``tool_changes``; input that waits: ``inbox``, ``notices``,
  ``consumed_work``
- what is kept: the events in memory, ``stored``; a state as bytes, ``snapshot`` and ``snapshot_state``;
  content outside the log, ``blobs`` and ``overflow``; what a search finds, ``visible_text``
"""
