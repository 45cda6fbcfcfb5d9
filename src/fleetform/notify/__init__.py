"""Sends notifications: to webhooks, signed as Standard Webhooks say, and to Slack. Others decide what is told."""
